//! Rights, checked before a handler runs and before a byte of the body is read.
//!
//! A handler asks for its right by type, so it cannot forget it: `caller: May<Publish>`. Where the path names a
//! namespace, the right must reach into it.

use std::{marker::PhantomData, ops::Deref, sync::Arc};

use axum::{
    extract::{FromRequestParts, RawPathParams},
    http::{header, request::Parts},
};
use ostiary_record::Gate;

use crate::{
    app::App,
    auth::{Act, Caller},
    error::{ApiError, ErrorCode},
};

/// A caller that has the right `R`.
#[derive(Debug)]
pub struct May<R> {
    caller: Caller,
    right: PhantomData<fn() -> R>,
}

/// What a handler can ask for.
pub trait Right {
    /// The acts of which one must be granted, by the names in the path.
    ///
    /// # Errors
    /// When the path names something that decides on the right and is none.
    fn acts(path: &Names) -> Result<Vec<Act>, ApiError>;
}

/// The names in a path.
#[derive(Debug, Default)]
pub struct Names(Vec<(String, String)>);

/// Declares a right for one act.
macro_rules! rights {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub enum $name {}

        impl Right for $name {
            fn acts(_: &Names) -> Result<Vec<Act>, ApiError> {
                Ok(vec![Act::$name])
            }
        }
    )*};
}

rights! {
    /// See [`Act::Read`].
    Read;
    /// See [`Act::ReadEvidence`].
    ReadEvidence;
    /// See [`Act::ReadAudit`].
    ReadAudit;
    /// See [`Act::Publish`].
    Publish;
    /// See [`Act::Promote`].
    Promote;
    /// See [`Act::PutEnvironment`].
    PutEnvironment;
    /// See [`Act::Approve`].
    Approve;
    /// See [`Act::Operate`].
    Operate;
    /// See [`Act::Administer`].
    Administer;
}

/// To have the gate run that the path names: from canary on that is a promotion.
#[derive(Debug)]
pub enum RunGate {}

/// To have a version verified again: who published it, and who runs the registry.
#[derive(Debug)]
pub enum Reverify {}

/// To ask for a waiver: who publishes the version, and who answers for such things.
#[derive(Debug)]
pub enum AskWaiver {}

impl Right for AskWaiver {
    fn acts(_: &Names) -> Result<Vec<Act>, ApiError> {
        Ok(vec![Act::Publish, Act::Approve])
    }
}

impl Right for RunGate {
    fn acts(path: &Names) -> Result<Vec<Act>, ApiError> {
        let gate = path.get("gate").unwrap_or_default();
        match gate.parse::<Gate>() {
            Ok(gate) if gate >= Gate::Canary => Ok(vec![Act::Promote]),
            Ok(_) => Ok(vec![Act::Publish]),
            Err(error) => Err(ApiError::new(ErrorCode::InvalidRequest, error.to_string())),
        }
    }
}

impl Right for Reverify {
    fn acts(_: &Names) -> Result<Vec<Act>, ApiError> {
        Ok(vec![Act::Publish, Act::Operate])
    }
}

// === impl Names ===

impl Names {
    /// The name that stands for a part of the path's template.
    #[must_use]
    pub fn get(&self, part: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == part).map(|(_, name)| name.as_str())
    }
}

// === impl May ===

impl<R> Deref for May<R> {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.caller
    }
}

impl<R: Right> FromRequestParts<Arc<App>> for May<R> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, ApiError> {
        let field = parts.headers.get(header::AUTHORIZATION).map(http::HeaderValue::as_bytes);
        let caller = app.tokens.authenticate(field)?.clone();
        let params = RawPathParams::from_request_parts(parts, app)
            .await
            .map_err(|error| ApiError::new(ErrorCode::InvalidRequest, error.body_text()))?;
        let path = Names(params.iter().map(|(key, name)| (key.to_owned(), name.to_owned())).collect());
        granted(&caller, &R::acts(&path)?, path.get("namespace"))?;
        Ok(Self { caller, right: PhantomData })
    }
}

fn granted(caller: &Caller, acts: &[Act], namespace: Option<&str>) -> Result<(), ApiError> {
    let mut refused = None;
    for act in acts {
        let answer = match namespace {
            Some(namespace) => caller.require_in(*act, namespace),
            None => caller.require(*act),
        };
        match answer {
            Ok(()) => return Ok(()),
            Err(error) => refused = Some(error),
        }
    }
    Err(refused.unwrap_or_else(|| ApiError::new(ErrorCode::Forbidden, "nobody may do this")))
}
