// Shows the operations of the document of this listener.
const dark = matchMedia('(prefers-color-scheme: dark)');
const look = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
look();
dark.addEventListener('change', look);
SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#operations',
  deepLinking: true,
  validatorUrl: 'none',
  queryConfigEnabled: false,
  persistAuthorization: false,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  docExpansion: 'list',
  filter: true,
  tryItOutEnabled: false,
  presets: [SwaggerUIBundle.presets.apis],
  layout: 'BaseLayout',
});
