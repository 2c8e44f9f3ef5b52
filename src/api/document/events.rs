//! Events: a schema for each type, which readers tell apart by `type`, and a webhook for each.

use caudal_http::bodies::events::{TEST, types};
use utoipa::openapi::content::Content;
use utoipa::openapi::path::{
    HttpMethod, Operation, Parameter, ParameterBuilder, ParameterIn, PathItem, Paths,
};
use utoipa::openapi::request_body::RequestBody;
use utoipa::openapi::response::Response;
use utoipa::openapi::schema::{
    AllOf, AllOfBuilder, Discriminator, Object, ObjectBuilder, OneOf, Schema, Type,
};
use utoipa::openapi::{OpenApi, Ref, RefOr, Required};

/// The document's description of all events.
const ABOUT: &str = "An event: the body of a webhook, an item of the feed, the data of a message of the stream. \
`id` is also the `webhook-id`; later events of the realm have greater ones. `sequence` counts the events of the \
realm from 1, without gaps. `data` is what the event is about, as it was right after it; `type` says which.";
/// The name of the schema of the fields that all events have.
const HEAD: &str = "EventHead";
/// The tag of the webhooks: not that of the operations which manage them, since generators of clients write one file for
/// each tag, and of two of one name keep the last.
pub(super) const TAG: (&str, &str) = (
    "Events sent",
    "What a webhook of yours receives: a request for each event, with a body for each type.",
);
/// The name of the receiver's answer.
const TAKEN: &str = "Taken";
/// The headers of each webhook.
const HEADERS: [(&str, &str, &str); 3] = [
    (
        "WebhookId",
        "webhook-id",
        "The id of the event: the same at every try.",
    ),
    (
        "WebhookTimestamp",
        "webhook-timestamp",
        "When it was sent, in seconds since 1970.",
    ),
    (
        "WebhookSignature",
        "webhook-signature",
        "`v1,` and the signature by Standard Webhooks; two of them, separated by a space, while a secret is rotated.",
    ),
];

/// Replaces the one schema of events by one for each type, and declares the webhooks.
pub(super) fn publish(document: &mut OpenApi) {
    let components = document.components.get_or_insert_default();
    let Some(RefOr::T(Schema::Object(all))) = components.schemas.remove("Event") else {
        return;
    };
    components.schemas.remove("EventData");
    components.schemas.insert(TEST.2.into(), test_data());
    components.schemas.insert(HEAD.into(), head(all).into());
    let taken = Response::new("Taken. 410 ends the webhook; others are sent again.");
    components.responses.insert(TAKEN.into(), taken.into());
    for (place, name, about) in HEADERS {
        let parameter = header(name, about);
        components.parameters.insert(place.into(), parameter.into());
    }
    let (mut either, mut by_type) = (OneOf::new(), Discriminator::new("type"));
    let mut webhooks = Paths::new();
    for (word, about, data) in types() {
        let name = name(word);
        let schema = Schema::AllOf(one(word, about, data));
        components.schemas.insert(name.clone(), schema.into());
        either.items.push(Ref::from_schema_name(&name).into());
        by_type
            .mapping
            .insert(word.into(), format!("#/components/schemas/{name}"));
        let item = PathItem::new(HttpMethod::Post, webhook(word, about, &name));
        webhooks.paths.insert(word.into(), item);
    }
    either.description = Some(ABOUT.to_owned());
    either.discriminator = Some(by_type);
    components
        .schemas
        .insert("Event".into(), Schema::OneOf(either).into());
    document.webhooks = Some(webhooks);
}

/// The name of the schema of a type: `hold.created` is a `HoldCreatedEvent`.
fn name(word: &str) -> String {
    let parts = word.split(['.', '_']);
    let raised = parts.map(|part| {
        let mut letters = part.chars();
        let first = letters.next().map(|c| c.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    });
    raised.chain(["Event".to_owned()]).collect()
}

/// The schema of the fields that all events have, made of the full one.
fn head(mut all: Object) -> Schema {
    for own in ["type", "data"] {
        all.properties.shift_remove(own);
        all.required.retain(|name| name != own);
    }
    all.description = Some("What all events have.".to_owned());
    Schema::Object(all)
}

/// The schema of one type: the fields of all events, and its own data.
fn one(word: &str, about: &str, data: &str) -> AllOf {
    let kind = ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some([word]));
    let own = ObjectBuilder::new()
        .property("type", kind)
        .property("data", Ref::from_schema_name(data))
        .required("type")
        .required("data");
    AllOfBuilder::new()
        .description(Some(about))
        .item(Ref::from_schema_name(HEAD))
        .item(own)
        .build()
}

fn test_data() -> RefOr<Schema> {
    let id = ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some("The webhook that is tried."));
    ObjectBuilder::new()
        .description(Some("What a try carries."))
        .property("webhookId", id)
        .required("webhookId")
        .into()
}

fn header(name: &str, about: &str) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(Required::True)
        .description(Some(about))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
        .build()
}

fn webhook(word: &str, about: &str, name: &str) -> Operation {
    let mut operation = Operation::new();
    operation.operation_id = Some(format!("on{name}"));
    operation.tags = Some(vec![TAG.0.into()]);
    operation.summary = Some(word.to_owned());
    operation.description = Some(about.to_owned());
    let headers = HEADERS.into_iter();
    let headers = headers.map(|(place, ..)| {
        let place = Ref::new(format!("#/components/parameters/{place}"));
        RefOr::Ref(place)
    });
    operation.parameters = Some(headers.collect());
    let mut body = RequestBody::new();
    body.required = Some(Required::True);
    let content = Content::new(Some(Ref::from_schema_name(name)));
    body.content
        .insert("application/json".into(), content.into());
    operation.request_body = Some(body.into());
    let taken = Ref::from_response_name(TAKEN);
    let answers = &mut operation.responses.responses;
    answers.insert("2XX".into(), taken.into());
    operation
}
