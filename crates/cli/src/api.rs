//! Talking to a control plane over its HTTP API.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
    time::Duration,
};

use bytes::Bytes;
use clap::Args;
use ostiary_drivers::http_client::{HttpClient, Request, Response};
use serde_json::Value;

use crate::{console::visible, error::CliError, system};

/// Which control plane, and as whom.
#[derive(Args, Clone, Debug)]
pub struct Remote {
    /// Address of the control plane's HTTP API
    #[arg(long, env = "OSTIARY_SERVER", default_value = "http://127.0.0.1:8420", value_name = "URL")]
    pub server: String,
    /// File that holds the token
    #[arg(long, env = "OSTIARY_TOKEN_FILE", value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Name of the environment variable that holds the token
    #[arg(long, default_value = "OSTIARY_TOKEN", value_name = "NAME")]
    pub token_env: String,
    /// Certificate authorities of the control plane, in place of the web's own (PEM)
    #[arg(long, env = "OSTIARY_CA_FILE", value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
}

/// A control plane that answers.
pub struct Api {
    client: HttpClient,
    base: String,
    token: Option<String>,
}

/// Longest wait for an answer; nothing in the API holds a request longer.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Where the gRPC API listens unless the server's configuration says otherwise.
const GRPC_PORT: u16 = 8421;

// === impl Remote ===

impl Remote {
    /// Makes the client.
    ///
    /// # Errors
    /// When the token or certificate file cannot be read.
    pub fn api(&self) -> Result<Api, CliError> {
        let roots = self.ca_file.as_ref().map(|path| read(path)).transpose()?;
        Api::new(&self.server, self.token()?, roots)
    }

    /// The address of the gRPC API: the one that was named, else port 8421 of the host that serves the HTTP API.
    ///
    /// # Errors
    /// When `--server` is no address.
    pub fn grpc(&self, named: Option<String>) -> Result<String, CliError> {
        if let Some(named) = named {
            return Ok(named);
        }
        let wrong = |why: &str| {
            CliError::usage(format!("`{}` is no address of a control plane: {why}", self.server))
                .hint("write http://HOST:PORT, or give the gRPC address itself with --grpc")
        };
        let url = url::Url::parse(&self.server).map_err(|e| wrong(&e.to_string()))?;
        let host = url.host_str().ok_or_else(|| wrong("it names no host"))?;
        Ok(format!("{}://{host}:{GRPC_PORT}", url.scheme()))
    }

    /// The token, from file or variable.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn token(&self) -> Result<Option<String>, CliError> {
        match &self.token_file {
            None => Ok(system::variable(&self.token_env)),
            Some(path) => {
                let text = String::from_utf8(bounded(path, TOKEN_BYTES)?);
                let text = text.map_err(|_| CliError::could_not_run(format!("`{}` holds no text", path.display())))?;
                Ok(Some(text.trim().to_owned()))
            }
        }
    }
}

// === impl Api ===

impl Api {
    /// A client for the control plane at `base`.
    ///
    /// # Errors
    /// When the certificates do not parse.
    pub fn new(base: &str, token: Option<String>, roots: Option<Vec<u8>>) -> Result<Self, CliError> {
        let client = HttpClient::for_operator(roots).map_err(|e| CliError::because("cannot use the CA file", &e))?;
        Ok(Self { client, base: base.trim_end_matches('/').to_owned(), token })
    }

    /// GETs a JSON document.
    ///
    /// # Errors
    /// When there is no answer, or it is a refusal.
    pub async fn get(&self, path: &str) -> Result<Value, CliError> {
        self.json(self.request("GET", path)).await
    }

    /// GETs bytes.
    ///
    /// # Errors
    /// When there is no answer, or it is a refusal.
    pub async fn get_bytes(&self, path: &str) -> Result<Bytes, CliError> {
        self.send(self.request("GET", path)).await.map(|response| response.body)
    }

    /// POSTs JSON; the same call repeated by a network that drops answers has one effect.
    ///
    /// # Errors
    /// When there is no answer, or it is a refusal.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value, CliError> {
        let request = self.request("POST", path).header("Idempotency-Key", &system::new_id("cli"));
        self.json(request.body("application/json", body.to_string())).await
    }

    /// PUTs JSON.
    ///
    /// # Errors
    /// When there is no answer, or it is a refusal.
    pub async fn put(&self, path: &str, body: &Value) -> Result<Value, CliError> {
        self.json(self.request("PUT", path).body("application/json", body.to_string())).await
    }

    /// DELETEs.
    ///
    /// # Errors
    /// When there is no answer, or it is a refusal.
    pub async fn delete(&self, path: &str) -> Result<(), CliError> {
        self.send(self.request("DELETE", path)).await.map(|_| ())
    }

    /// GETs a list page by page; `items` is its name in each page.
    ///
    /// # Errors
    /// When there is no answer, or it is a refusal.
    pub async fn pages(&self, path: &str, items: &str) -> Result<Vec<Value>, CliError> {
        let mut all = Vec::new();
        let mut after = String::new();
        loop {
            let page = self.get(&format!("{path}{after}")).await?;
            all.extend(page[items].as_array().into_iter().flatten().cloned());
            match page["next"].as_str() {
                Some(next) => after = format!("?after={}", encode(next)),
                None => return Ok(all),
            }
        }
    }

    /// Sends bytes of a media type.
    ///
    /// # Errors
    /// When there is no answer, or it is a refusal.
    pub async fn upload(
        &self,
        method: &str,
        path: &str,
        media_type: &str,
        body: impl Into<Bytes>,
    ) -> Result<Value, CliError> {
        let request = self.request(method, path).header("Idempotency-Key", &system::new_id("cli"));
        self.json(request.body(media_type, body)).await
    }

    fn request(&self, method: &str, path: &str) -> Request {
        let mut request = Request::new(method, &format!("{}{path}", self.base)).header("Accept", "application/json");
        request.timeout = TIMEOUT;
        match &self.token {
            Some(token) => request.header("Authorization", &format!("Bearer {token}")),
            None => request,
        }
    }

    async fn json(&self, request: Request) -> Result<Value, CliError> {
        let url = request.url.clone();
        let response = self.send(request).await?;
        if response.body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&response.body).map_err(|e| {
            CliError::because(format!("`{url}` answered with something that is no JSON"), &e)
                .hint("check that --server is the address of an Ostiary control plane")
        })
    }

    async fn send(&self, request: Request) -> Result<Response, CliError> {
        let answered = self.client.send(&request).await;
        let response = answered.map_err(|e| {
            CliError::because("the control plane did not answer", &e)
                .hint("start it with `ostiary serve`, or give its address with --server")
        })?;
        if response.status < 400 { Ok(response) } else { Err(refusal(&response)) }
    }
}

/// A refusal as the control plane worded it, with the exit code it stands for.
fn refusal(response: &Response) -> CliError {
    let problem: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    let text = |name: &str| problem[name].as_str().map(visible);
    let status = response.status;
    let mut what = text("detail").or_else(|| text("title")).unwrap_or_else(|| format!("HTTP status {status}"));
    for item in problem["problems"].as_array().into_iter().flatten() {
        what = format!("{what}\n  {}", visible(&problem_item(item)));
    }
    let error = match status {
        // asked wrongly: names, values, a body that does not fit
        400 | 404 | 405 | 413 | 422 => CliError::usage(what),
        // understood, and denied
        403 | 409 | 412 => CliError::refused(what),
        401 => CliError::could_not_run(what).hint("give a token with --token-file, or in OSTIARY_TOKEN"),
        _ => CliError::could_not_run(what),
    };
    match text("code") {
        Some(code) => error.code(code),
        None => error,
    }
}

fn problem_item(item: &Value) -> String {
    let mut text = item["file"].as_str().unwrap_or_default().to_owned();
    for number in [&item["line"], &item["column"]].into_iter().filter_map(Value::as_u64) {
        text = format!("{text}:{number}");
    }
    let word = |name: &str| item[name].as_str().unwrap_or_default();
    text = format!("{text}: {}: {}", word("code"), word("message"));
    if word("hint").is_empty() { text } else { format!("{text} ({})", word("hint")) }
}

/// A value in a query.
fn encode(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// Most bytes of a file that is read as a whole; recordings are the largest that we write, and stay far below.
const FILE_BYTES: u64 = 256 << 20;

/// Most bytes of a token.
const TOKEN_BYTES: u64 = 64 << 10;

/// Reads a regular file that an option names. A pipe would be waited for and a device never ends, so both are refused.
///
/// # Errors
/// When it is no regular file, cannot be read, or is too large.
pub fn read(path: &Path) -> Result<Vec<u8>, CliError> {
    let found = std::fs::metadata(path).map_err(|e| unreadable(path, &e))?;
    if !found.is_file() {
        let what = if found.is_dir() { "a directory" } else { "a pipe or device" };
        let what = format!("cannot read `{}`: it is {what}, not a regular file", path.display());
        return Err(CliError::could_not_run(what).hint("name a file"));
    }
    bounded(path, FILE_BYTES)
}

/// Reads at most so many bytes, whatever the file is: tokens may come out of a pipe.
fn bounded(path: &Path, bytes: u64) -> Result<Vec<u8>, CliError> {
    let mut read = Vec::new();
    let file = std::fs::File::open(path).map_err(|e| unreadable(path, &e))?;
    file.take(bytes + 1).read_to_end(&mut read).map_err(|e| unreadable(path, &e))?;
    if read.len() as u64 > bytes {
        return Err(CliError::could_not_run(format!("`{}` has more than {bytes} bytes", path.display())));
    }
    Ok(read)
}

fn unreadable(path: &Path, error: &std::io::Error) -> CliError {
    CliError::could_not_run(format!("cannot read `{}`: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use ostiary_drivers::http_client::Response;

    use super::{Remote, refusal};
    use crate::exit::Exit;

    fn answered(status: u16, body: &str) -> Response {
        Response { status, headers: Vec::new(), body: body.to_owned().into() }
    }

    #[test]
    fn one_address_leads_to_both_interfaces() {
        let remote = |server: &str| Remote {
            server: server.to_owned(),
            token_file: None,
            token_env: "NONE".to_owned(),
            ca_file: None,
        };
        for (server, grpc) in [
            ("http://127.0.0.1:8420", "http://127.0.0.1:8421"),
            ("http://ostiary.internal", "http://ostiary.internal:8421"),
            ("https://[::1]:9000/", "https://[::1]:8421"),
        ] {
            assert_eq!(remote(server).grpc(None).expect("an address"), grpc);
        }
        let named = "http://routers.internal:7000";
        assert_eq!(remote("http://a").grpc(Some(named.to_owned())).expect("an address"), named);
        assert_eq!(remote("ostiary").grpc(None).expect_err("no address").exit(), Exit::Usage);
    }

    #[test]
    fn each_kind_of_refusal_has_its_exit_code() {
        for (status, exit) in [
            (400, Exit::Usage),
            (401, Exit::CouldNotRun),
            (403, Exit::Failed),
            (404, Exit::Usage),
            (409, Exit::Failed),
            (503, Exit::CouldNotRun),
        ] {
            assert_eq!(refusal(&answered(status, "{}")).exit(), exit, "{status}");
        }
    }

    #[test]
    fn everything_that_is_wrong_with_a_bundle_is_shown() {
        let body = r#"{"detail":"the bundle has problems","code":"INVALID_BUNDLE","problems":[
            {"file":"contract.yaml","line":3,"column":5,"code":"MISSING_KEY","message":"no `x`","hint":"write x"}]}"#;
        let shown = refusal(&answered(422, body)).to_string();
        assert!(shown.contains("contract.yaml:3:5: MISSING_KEY: no `x` (write x)"), "{shown}");
    }
}
