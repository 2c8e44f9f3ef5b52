//! The texts of the console, in both languages side by side: a text without one of them does not compile.

mod states;

use caudal_ledger::limits::LimitKind;

use caudal_http::current::Language;

pub(super) use states::state;

macro_rules! texts {
    ($($word:ident = $spanish:literal, $english:literal;)+) => {
        /// A text of the console.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum Word {$(
            #[doc = $english]
            $word,
        )+}

        impl Word {
            /// Both texts of every word: Spanish, English.
            #[cfg(test)]
            pub(crate) const BOTH: &'static [(&'static str, &'static str)] = &[$(($spanish, $english)),+];

            /// Its text in a language.
            pub(crate) const fn text(self, language: Language) -> &'static str {
                match (self, language) {$(
                    (Self::$word, Language::Spanish) => $spanish,
                    (Self::$word, Language::English) => $english,
                )+}
            }
        }
    };
}

texts! {
    // The frame.
    GroupMoney = "Dinero", "Money";
    GroupTenants = "PSP y cuentas", "Tenants and accounts";
    GroupSystem = "Sistema", "System";
    GroupPeople = "Personas", "People";
    SkipToContent = "Ir al contenido", "Skip to content";
    Parts = "Secciones", "Sections";
    Above = "Ubicación", "Breadcrumb";
    Language = "Idioma", "Language";
    Theme = "Tema", "Theme";
    ThemeAuto = "Tema del sistema", "System theme";
    ThemeLight = "Claro", "Light";
    ThemeDark = "Oscuro", "Dark";
    Apply = "Aplicar", "Apply";
    Documentation = "Documentación", "Documentation";
    AsOf = "Al", "As of";
    BuenosAires = "Hora de Buenos Aires", "Buenos Aires time";
    Next = "Siguiente", "Next";
    Filter = "Filtrar", "Filter";
    Show = "Mostrar", "Show";
    Download = "Descargar", "Download";
    Format = "Formato", "Format";
    Open = "Abrir", "Open";
    Any = "Cualquiera", "Any";
    Yes = "Sí", "Yes";
    No = "No", "No";
    Done = "Listo: quedó registrado.", "Done and recorded.";
    NotDone = "No se pudo", "Failed";
    Request = "Solicitud", "Request";
    InAll = "en total", "total";
    RowsLooked = "filas revisadas hasta aquí; siga para ver más", "rows scanned so far; continue for more";
    NoSuchPage = "No existe esa página", "Page not found";
    NoSuchPageHint = "Use la búsqueda o las secciones.", "Use the search or the sections.";
    NothingHere = "No hay nada que mostrar.", "There is nothing to show.";
    ForeignForm = "Este formulario no es de esta sesión. Abra la página de nuevo e intente otra vez.",
        "This form belongs to another session. Open the page again and send it from there.";

    // Logging in.
    LogIn = "Ingresar a la consola", "Log in to the console";
    LogOut = "Salir", "Log out";
    AdminKey = "Su credencial o la clave de administración", "Your credential or the admin key";
    Enter = "Ingresar", "Log in";
    LogInHint = "Cada persona tiene su credencial. caudal dev muestra un enlace que ingresa una vez.",
        "Each person has their own credential. caudal dev prints a link that logs you in once.";
    WrongKey = "La credencial no es correcta.", "Wrong credential.";
    LinkUsed = "El enlace ya se usó o venció: vale una vez, por diez minutos. Ingrese con la clave.",
        "The link was already used or has expired: it works once, within ten minutes. Log in with the key.";
    GoOn = "Continuar", "Continue";

    // The overview.
    Overview = "Resumen", "Overview";
    Live = "Ahora", "Now";
    LiveOn = "En vivo", "Live";
    LiveOff = "Sin actualizar", "Not updating";
    LiveGo = "Reanudar", "Resume";
    LiveStop = "Pausar", "Pause";
    Node = "Nodo", "Node";
    Ready = "Listo", "Ready";
    NotReady = "No está listo", "Not ready";
    Up = "Activo hace", "Up for";
    RequestsASecond = "Solicitudes por segundo", "Requests per second";
    Median = "mediana", "median";
    NinetyNine = "p99", "p99";
    NoRequests = "ninguna en el último minuto", "none in the last minute";
    CommitsASecond = "Confirmaciones por segundo", "Commits per second";
    LastCommit = "Última confirmación", "Last commit";
    FlushMicros = "Escritura media (µs)", "Mean flush (µs)";
    LastFlush = "Última escritura (µs)", "Last flush (µs)";
    QueuedCommits = "Confirmaciones en espera", "Commits waiting";
    IndexLag = "Atraso del índice", "Index lag";
    Residents = "Cuentas en memoria", "Accounts in memory";
    AtMost = "Máximo", "Limit";
    JournalOnDisk = "Diario en disco", "Journal on disk";
    IndexOnDisk = "Índice en disco", "Index on disk";
    NeedsSomebody = "Problemas", "Problems";
    NothingWrong = "No hay problemas.", "No problems.";
    Urgency = "Urgencia", "Urgency";
    Problem = "Problema", "Problem";
    Items = "Cantidad", "Count";
    WhatToDo = "Qué hacer", "What to do";
    DocumentedSteps = "Pasos", "Steps";
    FreeRoom = "Espacio libre", "Free space";
    WaitsForPeople = "Esperan una decisión", "Waiting for a decision";
    NothingWaits = "Nada espera una decisión.", "Nothing is waiting for a decision.";
    OldestSince = "El más antiguo desde", "Oldest";
    WebhooksBehind = "Webhooks atrasados o detenidos", "Webhooks behind or stopped";
    NoWebhookBehind = "Todos los webhooks están al día.", "All webhooks are up to date.";
    AskingBank = "Consultando al banco…", "Asking the bank…";

    // Tenants, realms, keys.
    Tenants = "PSP", "Tenants";
    Tenant = "PSP", "Tenant";
    NoTenants = "Todavía no hay PSP. Cree uno con caudal tenant create.",
        "There are no tenants yet. Create one with caudal tenant create.";
    Realms = "Entornos", "Realms";
    Realm = "Entorno", "Realm";
    Mode = "Modo", "Mode";
    Name = "Nombre", "Name";
    Id = "Id", "Id";
    Keys = "Claves de API", "API keys";
    NoKeys = "Este PSP no tiene claves. Emita una con caudal key issue.",
        "This tenant has no keys. Issue one with caudal key issue.";
    Label = "Etiqueta", "Label";
    LastUsed = "Último uso", "Last used";
    CloseNeedsZero = "Cerrar exige estar en cero", "Closing needs a zero balance";
    RelaxedCuit = "CUIT de prueba sin dígito verificador", "Test CUITs without check digit";
    LimitsOfTenant = "Límites que heredan las cuentas", "Limits that accounts inherit";

    // What things have in common.
    State = "Estado", "State";
    Kind = "Clase", "Kind";
    Type = "Tipo", "Type";
    Types = "Tipos", "Types";
    Number = "Número", "Number";
    At = "Momento", "Time";
    Since = "Desde", "Since";
    From = "Desde", "From";
    To = "Hasta", "To";
    CreatedAt = "Creado", "Created";
    UpdatedAt = "Modificado", "Updated";
    ClosedAt = "Cerrado", "Closed";
    EndsAt = "Vence", "Expires";
    Amount = "Importe", "Amount";
    Value = "Valor", "Value";
    What = "Dato", "What";
    Reason = "Motivo", "Reason";
    Description = "Descripción", "Description";
    About = "Corresponde a", "About";
    Reverses = "Revierte", "Reverses";
    RelatesTo = "Relacionado con", "Relates to";
    Reversed = "Revertido", "Reversed";
    Reversible = "Puede revertirse", "Can be reversed";
    TenantsData = "Datos del PSP", "The tenant's data";
    By = "Quién", "By";

    // Accounts.
    Accounts = "Cuentas", "Accounts";
    Account = "Cuenta", "Account";
    NoAccounts = "Ninguna cuenta coincide.", "No account matches.";
    TextInAccount = "CUIT, nombre, correo o código", "CUIT, name, e-mail or code";
    Cvu = "CVU", "CVU";
    Alias = "Alias", "Alias";
    Cuit = "CUIT", "CUIT";
    CbuOrCvu = "CBU o CVU", "CBU or CVU";
    Holder = "Titular", "Holder";
    OtherHolders = "Otros titulares", "Other holders";
    Code = "Código del PSP", "Tenant's code";
    Email = "Correo", "E-mail";
    Phone = "Teléfono", "Phone";
    Enabled = "Habilitada", "Enabled";
    WaitsForBank = "Espera al banco", "Waiting for the bank";
    Suspended = "Suspendida por", "Suspended for";
    SuspendedAt = "Suspendida desde", "Suspended since";
    Metadata = "Datos del PSP", "Tenant's data";
    Available = "Disponible", "Available";
    Held = "Retenido", "Held";
    Total = "Total", "Total";
    BalanceAt = "Saldo histórico", "Past balance";
    DayOrInstant = "Día (AAAA-MM-DD, al cierre) o momento (RFC 3339)",
        "Date (YYYY-MM-DD, end of day) or timestamp (RFC 3339)";
    LastMovement = "Último movimiento", "Last movement";
    Limits = "Límites", "Limits";
    Limit = "Límite", "Limit";
    Source = "Origen", "Set by";
    Used = "Usado", "Used";
    Left = "Queda", "Left";
    MaxPerTransaction = "Máximo por operación", "Per transaction";
    DailyAmount = "Importe diario", "Daily amount";
    DailyCount = "Operaciones diarias", "Daily count";
    MonthlyAmount = "Importe mensual", "Monthly amount";
    MonthlyCount = "Operaciones mensuales", "Monthly count";
    MaxBalance = "Máximo en la cuenta", "Maximum balance";
    MaxPerIncoming = "Máximo por ingreso", "Per incoming movement";
    DailyIncoming = "Ingreso diario", "Daily incoming";
    MonthlyIncoming = "Ingreso mensual", "Monthly incoming";
    DailyGross = "Ingresos y egresos diarios", "Daily gross";
    MonthlyGross = "Ingresos y egresos mensuales", "Monthly gross";
    TemporaryLimitsUntil = "Límites temporales hasta", "Temporary limits until";
    Holds = "Retenciones", "Holds";
    NoHolds = "La cuenta no tuvo retenciones.", "The account has had no holds.";
    Confirmed = "Confirmado", "Confirmed";
    Released = "Liberado", "Released";
    Suspend = "Suspender", "Suspend";
    Reactivate = "Reactivar", "Reactivate";
    SendAway = "Descargar de la memoria", "Unload from memory";
    Cause = "Causa", "Cause";

    // The actor of an account, and actors of realms.
    TechnicalState = "Estado técnico: actor, memoria, disco y llamadas al banco",
        "Technical state: actor, memory, disk and calls to the bank";
    Actor = "Actor", "Actor";
    Resident = "En memoria", "In memory";
    NotResident = "No está en memoria", "Not in memory";
    Mailbox = "Mensajes en espera", "Messages waiting";
    InFlight = "Confirmaciones en curso", "Commits in flight";
    LastActive = "Última actividad", "Last active";
    MemoryAgrees = "Memoria y disco coinciden", "Memory and disk agree";
    OnItsWay = "hay confirmaciones en curso", "commits in progress";
    MemoryBesideDisk = "Memoria y disco", "Memory and disk";
    InMemory = "En memoria", "In memory";
    OnDisk = "En disco", "On disk";
    ProfileVersion = "Versión del perfil", "Profile version";
    Chain = "Cadena", "Chain";

    // Movements.
    Movements = "Movimientos", "Movements";
    LatestMovements = "Últimos movimientos", "Latest movements";
    NoMovements = "Ningún movimiento coincide.", "No movement matches.";
    Vouchers = "Comprobantes", "Vouchers";
    Voucher = "Comprobante", "Voucher";
    TextInVoucher = "Id, descripción o contraparte", "Id, description or counterparty";
    Direction = "Sentido", "Direction";
    AvailableAfter = "Disponible después", "Available after";
    HeldAfter = "Retenido después", "Held after";
    TotalAfter = "Total después", "Total after";
    ExternalId = "Id externo", "External id";
    Counterparty = "Contraparte", "Counterparty";
    Bank = "Banco", "Bank";
    Events = "Eventos", "Events";
    Event = "Evento", "Event";
    Statement = "Resumen de cuenta", "Statement";
    NewestOfRealm = "entre los últimos 10.000 del entorno", "among the latest 10,000 of the realm";
    NoEvents = "Todavía no hubo eventos.", "No events yet.";

    // Transfers and the bank.
    Transfers = "Transferencias", "Transfers";
    Transfer = "Transferencia", "Transfer";
    NoTransfers = "Ninguna transferencia coincide.", "No transfer matches.";
    TransferWaits = "El banco no sabe qué pasó con esta transferencia: espera la decisión de una persona.",
        "The bank does not know what happened to this transfer: a person has to decide.";
    OpenCase = "Abrir el caso", "Open the case";
    FromCvu = "CVU de origen", "From CVU";
    Destination = "Destino", "Destination";
    Concept = "Concepto", "Concept";
    Fee = "Comisión", "Fee";
    TaxOnFee = "Impuesto de la comisión", "Tax on the fee";
    CameBack = "Devuelto", "Returned";
    OriginId = "Nuestra referencia", "Our reference";
    BankId = "Id del banco", "Bank id";
    CoelsaId = "Id de COELSA", "COELSA id";
    Rejected = "Rechazo", "Rejection";
    Differs = "Difiere en", "Differs in";
    BankSays = "Lo que dice el banco", "What the bank says";
    UnreadableField = "Campo ilegible", "Unreadable field";
    BankCalls = "Llamadas al banco", "Calls to the bank";
    NoBankCalls = "No hubo llamadas al banco.", "No calls to the bank.";
    BankMessages = "Mensajes enviados y recibidos", "Messages sent and received";
    Operation = "Operación", "Operation";
    Millis = "Duración (ms)", "Duration (ms)";

    // Cases.
    Cases = "Casos", "Cases";
    Case = "Caso", "Case";
    Suspense = "Acreditación en suspenso", "Money in suspense";
    Unbooked = "Sin registrar", "Not booked";
    Class = "Clase", "Class";
    ClassBankFee = "Comisión del banco", "Bank fee";
    ClassBankTax = "Impuesto que retuvo el banco", "Tax withheld by the bank";
    ClassInterest = "Intereses", "Interest";
    ClassFunding = "Dinero propio que entró", "Own money in";
    ClassSweep = "Dinero propio que salió", "Own money out";
    FeeTax = "Impuesto sobre comisiones", "Tax on fees";
    Adjustments = "Ajustes", "Adjustments";
    Books = "Libros", "Books";
    TrialBalance = "Balance de comprobación", "Trial balance";
    BookAccount = "Cuenta de los libros", "Account of the books";
    BookEntries = "Asientos", "Entries";
    DebitSide = "Debe", "Debit";
    CreditSide = "Haber", "Credit";
    Balance = "Saldo", "Balance";
    CounterAccount = "Contracuenta", "Counter account";
    Uncredited = "Créditos sin registrar", "Credits not booked";
    OwnFunds = "Dinero propio", "Own money";
    BankCharges = "Cargos del banco", "Bank charges";
    Interest = "Intereses", "Interest";
    Opening = "Saldo inicial del banco", "Bank's opening balance";
    Closing = "Saldo final del banco", "Bank's closing balance";
    Unexplained = "Sin explicar", "Unexplained";
    ClosedDays = "Días cerrados", "Closed days";
    ClosedDay = "Día cerrado", "Closed day";
    NoClosedDays = "Todavía no se cerró ningún día.", "No day has been closed yet.";
    AccountsWithCvu = "Cuentas con CVU", "Accounts with a CVU";
    PublicKey = "Clave pública", "Public key";
    Differences = "Diferencias", "Differences";
    Checkpoint = "Comprobación firmada", "Signed checkpoint";
    CollectorDay = "Día de la cuenta recaudadora", "Day of the collector account";
    NotListed = "El banco ya no lo informa", "No longer listed by the bank";
    ChangedAtBank = "Cambió en el banco", "Changed at the bank";
    CreditedTo = "Acreditado en", "Credited to";
    Decide = "Decidir", "Decide";
    Choose = "Elija…", "Choose…";
    Decision = "Decisión", "Decision";
    Outcome = "Resultado", "Outcome";
    OutcomeCompleted = "Completada: el dinero salió", "Completed: the money left";
    OutcomeRejected = "Rechazada: el dinero vuelve a la cuenta", "Rejected: the money goes back to the account";
    OutcomeReturn = "Devolver a quien lo envió", "Return it to the sender";
    OutcomeCredit = "Acreditar en una cuenta", "Credit it to an account";
    OutcomeDismiss = "Descartar: se corrigió por otra vía", "Dismiss: it was corrected another way";
    BankReference = "Referencia del banco", "Bank's reference";
    Force = "Decidir aunque el banco todavía pueda responder", "Decide even though the bank may still answer";
    Forced = "Forzada", "Forced";
    CreditTo = "CVU que recibe (solo al acreditar)", "Receiving CVU (only to credit)";

    // Operations.
    IssueKey = "Emitir una clave", "Issue a key";
    RotateKey = "Reemplazar una clave", "Replace a key";
    RevokeKey = "Revocar una clave", "Revoke a key";
    ChangeLimits = "Cambiar los límites", "Change the limits";
    ChangePolicy = "Cambiar la política", "Change the policy";
    ChangeFees = "Cambiar las comisiones", "Change the fees";
    AddPerson = "Agregar una persona", "Add a person";
    ChangeRole = "Cambiar el rol", "Change a role";
    RotatePerson = "Reemplazar una credencial", "Replace a credential";
    RevokePerson = "Revocar una credencial", "Revoke a credential";
    ResumeWebhook = "Reanudar el webhook", "Resume the webhook";
    ReleaseOutgoing = "Liberar lo retenido", "Release what is held";
    ConfirmClock = "Confirmar el reloj", "Confirm the clock";
    HandOver = "Entregar el registro", "Hand over the log";
    ScopesOrAll = "Permisos, separados por comas (todos si queda vacío)", "Scopes, separated by commas (all if empty)";
    NetworksOrAll = "Redes, separadas por comas (todas si queda vacío)", "Networks, separated by commas (all if empty)";
    ExpiresOn = "Vence el día (nunca si queda vacío)", "Expires on (never if empty)";
    OverlapSeconds = "La anterior vale aún (segundos; un día si queda vacío)",
        "How long the old one still works (seconds; a day if empty)";
    FourEyesAbove = "Dos personas para decisiones desde (vacío: nunca)",
        "Two people for decisions above (empty: never)";
    FourEyesRaises = "Dos personas para subir límites", "Two people to raise limits";
    FeesAsLines = "Un renglón por comisión: voucherTypeCode=…, percentage=…, charge=true",
        "One line per fee: voucherTypeCode=…, percentage=…, charge=true";
    NameInAudit = "Nombre en el registro de auditoría: minúsculas, dígitos y . _ - @",
        "Name in the audit log: lowercase letters, digits and . _ - @";
    Person = "Persona", "Person";
    People = "Personas", "People";
    NoPeople = "Todavía no hay personas: agregue una.", "There are no people yet: add one.";
    IssuedAt = "Credencial emitida", "Credential issued";
    Settings = "Valores de la plataforma", "Platform settings";
    GoBack = "Volver", "Back";

    // Banks.
    Banks = "Bancos", "Banks";
    Responds = "Responde", "Responds";
    NotResponding = "No responde", "Does not respond";
    NotAskedYet = "Sin consultar", "Not asked yet";
    UnreachableSince = "Sin respuesta desde", "No response since";
    BalanceReported = "Último saldo informado", "Balance last reported";
    TransfersWaiting = "Transferencias en espera", "Transfers waiting";
    PesosInTransfers = "Pesos en espera", "Pesos waiting";
    OldestRequested = "La más antigua", "Oldest";

    // Treasury and reconciliation.
    Treasury = "Tesorería", "Treasury";
    Equation = "Dinero de clientes", "Client money";
    Collector = "Cuenta recaudadora", "Collector account";
    NoCollectors = "No hay cuentas recaudadoras: configure un banco.", "There are no collector accounts: set up a bank.";
    BankHas = "Tiene el banco", "The bank has";
    ClientsHave = "Tienen los clientes", "Clients have";
    InSuspense = "En suspenso", "In suspense";
    Outgoing = "Saliendo", "Outgoing";
    Fees = "Comisiones cobradas", "Fees charged";
    Free = "Libre", "Free";
    Coverage = "Cobertura", "Coverage";
    Covered = "Cubierto", "Covered";
    NotCovered = "Falta dinero", "Not covered";
    BankSilent = "El banco no responde", "Bank balance unavailable";
    Terms = "Composición", "Breakdown";
    Term = "Componente", "Item";
    MadeOf = "Surge de", "Details";
    OutgoingHeld = "De lo retenido, saliendo", "Held, of which outgoing";
    TransfersOpen = "Transferencias en curso", "Transfers in progress";
    Positions = "Posiciones", "Positions";
    EndOfDay = "Al cierre del día", "At the end of the day";
    Reconciliation = "Conciliación", "Reconciliation";
    Day = "Día", "Day";
    Today = "Hoy", "Today";
    DaysAhead = "Días de adelanto", "Days ahead";
    Result = "Resultado", "Result";
    AmountIn = "Entró", "In";
    AmountOut = "Salió", "Out";
    Contradicted = "Contradichas", "Contradicted";
    MoreByApi = "Hay más movimientos: la API y los archivos los tienen todos.", "There are more movements: the API and the files have all of them.";

    // Webhooks.
    Webhooks = "Webhooks", "Webhooks";
    Webhook = "Webhook", "Webhook";
    NoWebhooks = "Ningún PSP registró webhooks.", "No tenant has registered webhooks.";
    Host = "Servidor", "Host";
    Behind = "Por revisar", "Behind";
    Waiting = "En espera", "Waiting";
    Retrying = "Reintentando", "Retrying";
    Delivered = "Entregados", "Delivered";
    Parked = "Abandonados", "Parked";
    LastSuccess = "Última entrega", "Last success";
    LastFailure = "Último error", "Last failure";
    Deliveries = "Entregas", "Deliveries";
    NoDeliveries = "Ninguna entrega coincide.", "No delivery matches.";
    Tries = "Intentos", "Attempts";
    LastTry = "Último intento", "Last attempt";
    Answer = "Respuesta", "Response";
    Redeliver = "Reenviar", "Redeliver";

    // Backups.
    Backups = "Copias de seguridad", "Backups";
    Backup = "Copia de seguridad", "Backup";
    NoBackup = "Sin copia", "None";
    NoBackupHint = "El diario no se copia a ningún lado. Configure backup.to en el servicio.",
        "The journal is not copied anywhere else. Set backup.to in the service's settings.";
    ShippedElsewhere = "La copia la hace el nodo dueño del registro", "The node that owns the log makes the backup";
    Failing = "Falla", "Failing";
    Place = "Lugar", "Place";
    Store = "Almacén", "Store";
    Every = "Cada", "Every";
    CommitThere = "Última confirmación copiada", "Last commit copied";
    Lag = "Atraso", "Lag";
    LagBytes = "Bytes por copiar", "Bytes not copied";
    CompleteAgo = "Completa hace", "Age";
    Objects = "Objetos escritos", "Objects written";
    Failures = "Rondas fallidas", "Failed rounds";
    ShipNow = "Copiar ahora", "Back up now";

    // Nodes.
    Nodes = "Nodos", "Nodes";
    ThisNode = "Este nodo", "This node";
    OwnsLog = "Es dueño del registro", "Owns the log";
    LogOwner = "Dueño", "Owner";
    PublicUrl = "Dirección para clientes", "Address for clients";
    Epoch = "Época", "Epoch";
    LeaseLeftMs = "Concesión restante (ms)", "Lease left (ms)";
    CommitsBehind = "Confirmaciones que le faltan", "Commits behind";
    SeenMsAgo = "Visto hace (ms)", "Last seen (ms ago)";
    Present = "Presente", "Present";
    NoNodes = "No hay otros nodos: el diario está en el disco de este servicio.",
        "There are no other nodes: the journal is on the disk of this service.";
    StandbyHint = "Este nodo no es el dueño del registro: las demás páginas están en la consola del dueño.",
        "This node does not own the log: the other pages are on the owner's console.";

    // The audit log, and what takes two.
    Approvals = "Aprobaciones", "Approvals";
    Approval = "Aprobación", "Approval";
    NoApprovals = "Nada espera a una segunda persona.", "Nothing is waiting for a second person.";
    NewKey = "Clave nueva: se muestra solo esta vez; guárdela ahora",
        "New key: it is shown only once; store it now";
    Changes = "Lo que cambia", "What changes";
    Field = "Campo", "Field";
    Before = "Antes", "Before";
    After = "Después", "After";
    WouldDecide = "Lo que decide", "What it decides";
    WhyAsked = "Motivo de quien lo pide", "Requester's reason";
    ApprovalReason = "Motivo de la segunda persona", "Second person's reason";
    ApprovedBy = "Aprobado por", "Approved by";
    OwnRequest = "Usted lo pidió: lo decide otra persona.", "You requested this: someone else has to decide.";
    Details = "Detalle", "Details";
    Omitted = "sin asiento", "no entry";
    Approve = "Aprobar", "Approve";
    Reject = "Rechazar", "Reject";
    DecidedBy = "Decidió", "Decided by";
    DecidedAt = "Decidido", "Decided at";
    Log = "Registro", "Log";
    Audit = "Auditoría", "Audit log";
    NoAudit = "Ningún registro coincide.", "No entry matches.";
    Role = "Rol", "Role";
    Action = "Acción", "Action";
    Delivery = "Entrega", "Delivery";
    LatestTries = "Últimos intentos", "Latest attempts";
    NextTry = "Próximo intento", "Next attempt";

    // The search.
    Search = "Buscar", "Search";
    SearchHint = "CVU, alias, CUIT, nombre, id…", "CVU, alias, CUIT, name, id…";
    SearchHelp = "Busque por CVU, alias, CUIT, nombre, correo, código o id externo del PSP, por el id de COELSA o del banco, o por el id de un comprobante, una retención, una transferencia, un caso, un webhook o una solicitud.",
        "Search by CVU, alias, CUIT, name, e-mail, the tenant's code or external id, by the id of COELSA or the bank, or by the id of a voucher, a hold, a transfer, a case, a webhook or a request.";
    NothingFound = "No se encontró nada.", "Nothing was found.";
    NotAllRealms = "No se revisó todo; si falta algo, busque en las cuentas del PSP.",
        "The search stopped before the end; if something is missing, search the accounts of its tenant.";
    ByAnId = "Con este id", "With this id";
    OfThisRequest = "Comprobantes de esta solicitud", "Vouchers of this request";
    RightAfter = "Lo que pasó por entonces, de esta solicitud o de otras", "Events around that time, of this request or of others";
    RequestsInLog = "El libro no guarda el id de la solicitud. Aquí está lo que sí lo guarda: la auditoría, las llamadas al banco y los últimos comprobantes de entornos con webhooks. El registro del servicio dice el resto: búsquelo allí con grep.",
        "The ledger does not store request ids. These do: the audit log, calls to the bank, and the latest vouchers of realms with webhooks. The service's own log has the rest: grep for it there.";
}

/// The Spanish name of an account that all books have.
pub(super) fn book(code: &str) -> Option<&'static str> {
    let name = match code {
        "bank" => "Banco",
        "clients" => "Clientes",
        "suspense" => "En suspenso",
        "unclassified" => "Sin clasificar",
        "fee_tax" => "Impuesto sobre comisiones",
        "fees" => "Comisiones cobradas",
        "interest" => "Intereses",
        "bank_fees" => "Comisiones del banco",
        "bank_taxes" => "Impuestos del banco",
        "psp_funds" => "Dinero propio",
        "in_transit" => "En tránsito",
        _ => return None,
    };
    Some(name)
}

impl Word {
    /// The name of a kind of limit.
    pub(super) const fn limit(kind: LimitKind) -> Self {
        match kind {
            LimitKind::MaxPerTransaction => Self::MaxPerTransaction,
            LimitKind::DailyAmount => Self::DailyAmount,
            LimitKind::DailyCount => Self::DailyCount,
            LimitKind::MonthlyAmount => Self::MonthlyAmount,
            LimitKind::MonthlyCount => Self::MonthlyCount,
            LimitKind::MaxBalance => Self::MaxBalance,
            LimitKind::MaxPerIncoming => Self::MaxPerIncoming,
            LimitKind::DailyIncoming => Self::DailyIncoming,
            LimitKind::MonthlyIncoming => Self::MonthlyIncoming,
            LimitKind::DailyGross => Self::DailyGross,
            LimitKind::MonthlyGross => Self::MonthlyGross,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_there_in_both_languages() {
        for (spanish, english) in Word::BOTH {
            for text in [spanish, english] {
                assert!(
                    !text.is_empty() && text.trim() == *text,
                    "{spanish}, {english}"
                );
            }
        }
    }
}
