//! The OpenAPI document, and the check that a body matches it exactly.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// The document.
pub struct Document(pub Value);

impl Document {
    pub fn of_the_service() -> Self {
        Self(serde_json::to_value(caudal_service::server::openapi()).unwrap())
    }

    /// All operations: path, method and description, with references to parameters resolved.
    pub fn operations(&self) -> Vec<(String, String, Value)> {
        let mut found = self.written();
        for (_, _, operation) in &mut found {
            for parameter in operation["parameters"].as_array_mut().into_iter().flatten() {
                *parameter = self.resolved(parameter);
            }
        }
        found
    }

    /// All operations, with references to parameters left in place.
    pub fn written(&self) -> Vec<(String, String, Value)> {
        let paths = self.0["paths"].as_object().unwrap();
        let of = |(path, item): (&String, &Value)| {
            let operations = item.as_object().unwrap().iter();
            let operations = operations.filter(|(_, operation)| operation["responses"].is_object());
            let named =
                operations.map(|(method, it)| (path.clone(), method.to_uppercase(), it.clone()));
            named.collect::<Vec<_>>()
        };
        paths.iter().flat_map(of).collect()
    }

    /// An operation by its id.
    pub fn operation(&self, id: &str) -> Value {
        let found = self
            .operations()
            .into_iter()
            .find(|(_, _, it)| it["operationId"] == id);
        found.unwrap().2
    }

    /// The words that a text may be by its schema; none where it may be anything.
    pub fn allowed(&self, schema: &Value) -> BTreeSet<String> {
        let schema = self.resolved(schema);
        let words = schema["enum"].as_array().into_iter().flatten();
        let words = words.filter_map(Value::as_str).map(str::to_owned);
        let parts = ["oneOf", "anyOf", "allOf"].map(|kind| schema[kind].as_array());
        let parts = parts.into_iter().flatten().flatten();
        words
            .chain(parts.flat_map(|part| self.allowed(part)))
            .collect()
    }

    /// Checks that a value matches a schema, no less and no more.
    pub fn check(&self, schema: &Value, value: &Value) -> Result<(), String> {
        let schema = self.resolved(schema);
        let one_of = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
        if let Some(choices) = one_of {
            let fits = choices
                .iter()
                .any(|choice| self.check(choice, value).is_ok());
            return if fits {
                Ok(())
            } else {
                Err(format!("{value} is none of {schema}"))
            };
        }
        let types = match &schema["type"] {
            Value::String(one) => vec![one.as_str()],
            Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
            // Where the schema is silent anything is allowed; an `allOf` consists of objects.
            _ if schema["allOf"].is_array() => vec!["object"],
            _ => return Ok(()),
        };
        let number = types.contains(&"number") && value.is_number();
        if !number && !types.contains(&type_of(value)) {
            return Err(format!("{value} is not {types:?}"));
        }
        match value {
            Value::Array(items) => items
                .iter()
                .try_for_each(|item| self.check(&schema["items"], item)),
            Value::Object(fields) => self.check_object(&schema, fields),
            _ => Ok(()),
        }
    }

    fn check_object(&self, schema: &Value, fields: &Map<String, Value>) -> Result<(), String> {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        self.gather(schema, &mut properties, &mut required);
        if let Some(missing) = required.iter().find(|name| !fields.contains_key(*name)) {
            return Err(format!("{missing} is missing"));
        }
        for (name, value) in fields {
            match (properties.get(name), &schema["additionalProperties"]) {
                (Some(property), _) => self
                    .check(property, value)
                    .map_err(|why| format!("{name}: {why}"))?,
                (None, more) if more.is_object() => self.check(more, value)?,
                // An object without declared properties may have any fields.
                (None, _) if properties.is_empty() => {}
                (None, _) => return Err(format!("{name} is not in the document")),
            }
        }
        Ok(())
    }

    /// Gathers the properties of an object and of everything that it consists of.
    pub fn gather(
        &self,
        schema: &Value,
        properties: &mut Map<String, Value>,
        required: &mut Vec<String>,
    ) {
        let schema = self.resolved(schema);
        for part in schema["allOf"].as_array().into_iter().flatten() {
            self.gather(part, properties, required);
        }
        properties.extend(
            schema["properties"]
                .as_object()
                .cloned()
                .unwrap_or_default(),
        );
        let names = schema["required"].as_array().into_iter().flatten();
        required.extend(names.filter_map(Value::as_str).map(str::to_owned));
    }

    pub fn resolved(&self, schema: &Value) -> Value {
        match schema["$ref"].as_str() {
            Some(place) => self.resolved(self.0.pointer(place.trim_start_matches('#')).unwrap()),
            None => schema.clone(),
        }
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
