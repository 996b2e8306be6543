//! Envoy's external authorization, `envoy.service.auth.v3.Authorization/Check`.
//!
//! The question comes, from the most to the least trusted source, from the route's `context_extensions` (`ostiary-agent`,
//! `ostiary-version`, …), from route metadata and dynamic metadata of the namespace `ostiary`, and from `x-ostiary-…`
//! headers; see `docs/gateways.md`. A decision is an OK answer: a denial carries status, headers and body for the client.
//! A gRPC error says that nothing could be decided; Envoy then refuses as long as `failure_mode_allow` is off.

use std::sync::Arc;

use envoy_types::pb::{
    envoy::{
        config::core::v3::{HeaderValue, HeaderValueOption, Metadata, header_value_option::HeaderAppendAction},
        service::auth::v3::{
            AttributeContext, CheckRequest, CheckResponse, DeniedHttpResponse, OkHttpResponse,
            attribute_context::HttpRequest, authorization_server::Authorization, check_response::HttpResponse,
        },
        r#type::v3::HttpStatus,
    },
    google::{
        protobuf::{Struct, Value, value::Kind},
        rpc,
    },
};
use ostiary_proto::admission::v1::{CheckAdmissionRequest, admission_service_server::AdmissionService};
use tonic::{Code, Request, Response, Status};

use crate::gateway::{
    answer::{Answer, FACTS, PROBLEM_JSON},
    question::{self, Field, Heard, Layer, Unclear},
};

pub use envoy_types::pb::envoy::service::auth::v3::authorization_server::AuthorizationServer;

/// Answers Envoy by whatever answers routers: the same callers may ask, and the same leases hold.
#[derive(Debug)]
pub struct ExtAuthz<S> {
    admissions: Arc<S>,
}

/// Prefix of our keys among context extensions, which other extensions use as well.
const PREFIX: &str = "ostiary-";

/// The namespace of our metadata.
const NAMESPACE: &str = "ostiary";

/// Largest question that is taken: Envoy sends all headers, of which it takes 60 KiB, and, if told to, some of the body.
pub const LARGEST: usize = 256 << 10;

// === impl ExtAuthz ===

impl<S: AdmissionService> ExtAuthz<S> {
    /// Over what answers routers.
    #[must_use]
    pub const fn new(admissions: Arc<S>) -> Self {
        Self { admissions }
    }
}

impl<S> Clone for ExtAuthz<S> {
    fn clone(&self) -> Self {
        Self { admissions: Arc::clone(&self.admissions) }
    }
}

#[tonic::async_trait]
impl<S: AdmissionService> Authorization for ExtAuthz<S> {
    async fn check(&self, request: Request<CheckRequest>) -> Result<Response<CheckResponse>, Status> {
        let (metadata, extensions, message) = request.into_parts();
        let answer = match question(message.attributes.unwrap_or_default()) {
            Ok(asked) => {
                let question = Request::from_parts(metadata, extensions, asked.clone());
                let decided = self.admissions.check_admission(question).await?;
                Answer::of(&asked, decided.get_ref())
            }
            Err(unclear) => Answer::unclear(&unclear),
        };
        Ok(Response::new(respond(&answer)))
    }
}

fn question(context: AttributeContext) -> Result<CheckAdmissionRequest, Unclear> {
    let mut route = Layer::default();
    for (name, value) in &context.context_extensions {
        if let Some(name) = name.strip_prefix(PREFIX) {
            route.say(name, value)?;
        }
    }
    let configured = vec![route, said(context.route_metadata_context)?, said(context.metadata_context)?];
    let http = context.request.and_then(|request| request.http);
    question::question(configured, http.map(heard).unwrap_or_default())
}

/// What our namespace of the metadata says.
fn said(metadata: Option<Metadata>) -> Result<Layer, Unclear> {
    let mut layer = Layer::default();
    let ours = metadata.and_then(|mut metadata| metadata.filter_metadata.remove(NAMESPACE));
    for (name, value) in ours.into_iter().flat_map(|said| said.fields) {
        match value.kind {
            Some(Kind::StringValue(text)) => layer.say(&name, &text)?,
            Some(Kind::NullValue(_)) | None => layer.say(&name, "")?,
            // revisions are numbers, and whole ones
            Some(Kind::NumberValue(number)) => layer.say(&name, &number.to_string())?,
            Some(_) => return Err(Unclear::Unknown(name)),
        }
    }
    Ok(layer)
}

fn heard(http: HttpRequest) -> Vec<Heard> {
    let merged = http.headers.into_iter().map(|(name, value)| (name, Some(value)));
    // with `encode_raw_headers` they come as bytes, repeated ones one by one
    let raw = http.header_map.into_iter().flat_map(|map| map.headers).map(|header| {
        let bytes = if header.raw_value.is_empty() { header.value.into_bytes() } else { header.raw_value };
        (header.key, String::from_utf8(bytes).ok())
    });
    let of_field = |(name, value): (String, Option<String>)| {
        let field = Field::ALL.into_iter().find(|field| name.eq_ignore_ascii_case(field.header()))?;
        Some((field, value))
    };
    merged.chain(raw).filter_map(of_field).collect()
}

fn respond(answer: &Answer) -> CheckResponse {
    let code = match (answer.allowed, answer.status) {
        (true, _) => Code::Ok,
        (false, http::StatusCode::SERVICE_UNAVAILABLE) => Code::Unavailable,
        (false, _) => Code::PermissionDenied,
    };
    let message = answer.fact("reason").unwrap_or_default().to_owned();
    let told = match answer.allowed {
        true => HttpResponse::OkResponse(pass(answer)),
        false => HttpResponse::DeniedResponse(refuse(answer)),
    };
    CheckResponse {
        status: Some(rpc::Status { code: code.into(), message, details: Vec::new() }),
        dynamic_metadata: Some(metadata(answer)),
        http_response: Some(told),
    }
}

/// What goes on to the agent, and what the client is told beside the agent's answer.
fn pass(answer: &Answer) -> OkHttpResponse {
    let unsaid = FACTS.into_iter().filter(|name| answer.fact(name).is_none());
    let for_people = if answer.warns { ["decision", "reason", "would-deny", "mode"].as_slice() } else { &[] };
    OkHttpResponse {
        headers: answer.facts.iter().map(|(name, value)| header(name, value)).collect(),
        headers_to_remove: unsaid.map(|name| format!("x-ostiary-{name}")).collect(),
        response_headers_to_add: for_people.iter().filter_map(|name| Some(header(name, answer.fact(name)?))).collect(),
        ..OkHttpResponse::default()
    }
}

fn refuse(answer: &Answer) -> DeniedHttpResponse {
    let mut headers: Vec<_> = answer.facts.iter().map(|(name, value)| header(name, value)).collect();
    headers.push(option("content-type", PROBLEM_JSON));
    DeniedHttpResponse {
        status: Some(HttpStatus { code: answer.status.as_u16().into() }),
        headers,
        body: answer.problem.as_ref().map(ToString::to_string).unwrap_or_default(),
    }
}

fn header(name: &str, value: &str) -> HeaderValueOption {
    option(&format!("x-ostiary-{name}"), value)
}

/// A header that replaces whatever a client sent under its name.
fn option(key: &str, value: &str) -> HeaderValueOption {
    HeaderValueOption {
        header: Some(HeaderValue { key: key.to_owned(), value: value.to_owned(), raw_value: Vec::new() }),
        append_action: HeaderAppendAction::OverwriteIfExistsOrAdd.into(),
        ..HeaderValueOption::default()
    }
}

/// For the filters that come after, and for access logs: `%DYNAMIC_METADATA(envoy.filters.http.ext_authz:reason)%`.
fn metadata(answer: &Answer) -> Struct {
    let text = |value: &String| Value { kind: Some(Kind::StringValue(value.clone())) };
    Struct { fields: answer.facts.iter().map(|(name, value)| (name.replace('-', "_"), text(value))).collect() }
}

#[cfg(test)]
mod tests;
