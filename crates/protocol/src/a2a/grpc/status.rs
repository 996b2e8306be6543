//! How a gRPC call ended: `grpc-status`, `grpc-message` and the details beside them (gRPC over HTTP/2; AIP-193).

use base64::{
    Engine as _,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD_NO_PAD},
};
use ostiary_record::event::RawHeaders;
use serde_json::{Value, json};

use super::{
    read::read,
    schema::RPC_STATUS,
    write::{WriteError, write},
};
use crate::a2a::error::A2aError;

/// The statuses by their numbers.
pub const NAMES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// How a call ended, as its fields say it.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// Well.
    Ok,
    /// With an error.
    Error(A2aError),
    /// With fields that gRPC does not allow, and why.
    Malformed(String),
}

/// The ending that fields tell of; `None` when they name no status.
#[must_use]
pub fn ending(fields: &RawHeaders) -> Option<Ending> {
    let status = field(fields, "grpc-status")?;
    let Some(number) = status.parse::<usize>().ok().filter(|_| status.bytes().all(|b| b.is_ascii_digit())) else {
        return Some(Ending::Malformed(format!("`grpc-status` is `{status}`, which is no number")));
    };
    if number == 0 {
        return Some(Ending::Ok);
    }
    let Some(name) = NAMES.get(number) else {
        return Some(Ending::Malformed(format!("`grpc-status` is {number}, which is no status of gRPC")));
    };
    let message = field(fields, "grpc-message").map(percent_decoded);
    let detailed = field(fields, "grpc-status-details-bin").map(detailed).transpose();
    let mut object = match detailed {
        Ok(detailed) => detailed.unwrap_or_else(|| json!({"code": number, "message": message})),
        Err(why) => return Some(Ending::Malformed(format!("`grpc-status-details-bin`: {why}"))),
    };
    if let (Some(members), Some(message)) = (object.as_object_mut(), &message)
        && members.get("message").and_then(Value::as_str) != Some(message)
    {
        // said twice and not alike: a reader sees both
        members.insert("grpc-message".to_owned(), json!(message));
    }
    Some(Ending::Error(A2aError {
        http_status: None,
        status: Some((*name).to_owned()),
        code: None,
        message,
        details: object.get("details").cloned(),
        object: Some(object),
    }))
}

/// The value of `grpc-status-details-bin` for a status with `code`, `message` and `details` in ProtoJSON.
///
/// # Errors
/// When a detail is of a type that is not known here.
pub fn details_bin(status: &Value) -> Result<String, WriteError> {
    write(&RPC_STATUS, status).map(|bytes| STANDARD_NO_PAD.encode(bytes))
}

fn field<'a>(fields: &'a RawHeaders, name: &str) -> Option<&'a str> {
    let found = fields.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
    found.and_then(|(_, value)| value.as_str()).map(str::trim)
}

/// `google.rpc.Status`. Padding is optional in binary fields of gRPC.
fn detailed(text: &str) -> Result<Value, String> {
    let lenient = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let bytes = GeneralPurpose::new(&STANDARD, lenient).decode(text).map_err(|_| "not base64".to_owned())?;
    read(&RPC_STATUS, &bytes).map_err(|e| e.to_string())
}

/// A percent that begins no escape stands for itself, and bytes that are no text are replaced: the message is for people.
fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let escaped = bytes.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let byte = escaped.and_then(|hex| std::str::from_utf8(hex).ok()).and_then(|h| u8::from_str_radix(h, 16).ok());
        out.push(byte.unwrap_or(bytes[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use ostiary_record::Blob;

    use super::*;
    use crate::a2a::error::{ERROR_DOMAIN, ERROR_INFO, ErrorKind};

    /// `google.rpc.Status` for an unknown task: code 5, a message, one `ErrorInfo`.
    const DETAILS: &str = "CAUSDlRhc2sgbm90IGZvdW5kGk4KKHR5cGUuZ29vZ2xlYXBpcy5jb20vZ29vZ2xlLnJwYy5FcnJvckluZm8SIgoOVEFTS19OT1RfRk9VTkQSEGEyYS1wcm90b2NvbC5vcmc";

    fn fields(list: &[(&str, &str)]) -> RawHeaders {
        list.iter().map(|(n, v)| ((*n).to_owned(), Blob::from((*v).to_owned()))).collect()
    }

    fn error(list: &[(&str, &str)]) -> A2aError {
        match ending(&fields(list)) {
            Some(Ending::Error(error)) => error,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_reason_stands_in_the_details() {
        let status = [("grpc-status", "5"), ("grpc-message", "Task%20not found"), ("grpc-status-details-bin", DETAILS)];
        let error = error(&status[..2]);
        assert_eq!(
            (error.label(), error.message.as_deref()),
            ("NOT_FOUND (TaskNotFoundError)".into(), Some("Task not found"))
        );
        let with = self::error(&status);
        assert_eq!(with.reason(), Some("TASK_NOT_FOUND"));
        let info = with.error_infos().next().unwrap();
        assert_eq!((&info["@type"], &info["domain"]), (&json!(ERROR_INFO), &json!(ERROR_DOMAIN)));
        assert_eq!(with.kind(), Some(ErrorKind::TaskNotFound));
        assert_eq!(details_bin(with.object.as_ref().unwrap()).as_deref(), Ok(DETAILS), "and can be written again");
    }

    #[test]
    fn a_text_that_differs_from_the_one_in_the_details_is_kept() {
        let told = error(&[("grpc-status", "5"), ("grpc-message", "at line 7"), ("grpc-status-details-bin", DETAILS)]);
        assert_eq!(told.object.unwrap()["grpc-message"], json!("at line 7"));
    }

    #[test]
    fn what_is_no_status_is_named() {
        assert_eq!(ending(&fields(&[])), None);
        assert_eq!(ending(&fields(&[("grpc-status", "0")])), Some(Ending::Ok));
        for wrong in ["17", "+5", "OK", "", "99999999999999999999"] {
            assert!(matches!(ending(&fields(&[("grpc-status", wrong)])), Some(Ending::Malformed(_))), "{wrong:?}");
        }
        let broken = fields(&[("grpc-status", "3"), ("grpc-status-details-bin", "%%%")]);
        assert!(matches!(ending(&broken), Some(Ending::Malformed(why)) if why.contains("base64")));
        let garbage = fields(&[("grpc-status", "3"), ("grpc-status-details-bin", "Gv8B")]);
        assert!(matches!(ending(&garbage), Some(Ending::Malformed(why)) if why.contains("details-bin")), "{garbage:?}");
    }

    #[test]
    fn messages_are_read_for_people() {
        assert_eq!(percent_decoded("50%25 of %e2%82%ac"), "50% of €");
        assert_eq!(percent_decoded("100% %zz %"), "100% %zz %");
        assert_eq!(percent_decoded("%ff"), "\u{fffd}");
    }
}
