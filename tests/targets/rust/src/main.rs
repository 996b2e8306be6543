//! An ordinary agent on the official Rust SDK: counts the words of a text. It knows nothing of whoever verifies it, and is
//! open to everybody. It always speaks JSON-RPC, HTTP+JSON with `--rest-url`, and gRPC with `--grpc-port` and `--grpc-url`.
//!
//! With `--push` it tells of changes of a task where it is asked to, and refuses addresses of its own network, except below
//! the `--push-to` that its operator names. What the SDK leaves out is mended in `mended.rs`, `listed.rs` and `refused.rs`; `--unmended` leaves it so.
//! What messages it understands is in `count_words.rs`.

mod count_words;
mod listed;
mod mended;
mod push;
mod refused;

use std::{error::Error, net::Ipv4Addr, str::FromStr, sync::Arc};

use a2a::{AgentCapabilities, AgentCard, AgentInterface, AgentSkill};
use a2a_grpc::GrpcHandler;
use a2a_pb::proto::a2a_service_server::A2aServiceServer;
use a2a_server::{
    DefaultRequestHandler, HttpPushSender, HttpPushSenderConfig, InMemoryPushConfigStore, InMemoryTaskStore,
    RequestHandler, StaticAgentCard, TaskStore, agent_card::agent_card_router, jsonrpc::jsonrpc_router,
    rest::rest_router,
};

use crate::{count_words::CountWords, listed::Ordered, mended::Mended, push::Screened, refused::in_the_bindings_words};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let port: u16 = number("--port")?.ok_or("--port is missing")?;
    let own = format!("http://127.0.0.1:{port}/rpc");
    let interfaces = [
        ("JSONRPC", Some(value("--public-url").unwrap_or(own))),
        ("HTTP+JSON", value("--rest-url")),
        ("GRPC", value("--grpc-url")),
    ];
    let mended = !given("--unmended");
    let handler = if mended {
        handler(Ordered(InMemoryTaskStore::new()), true)
    } else {
        handler(InMemoryTaskStore::new(), false)
    };
    let card = card(&interfaces, given("--push"));
    if mended {
        serve(port, card, Arc::new(Mended(handler)), mended).await
    } else {
        serve(port, card, Arc::new(handler), mended).await
    }
}

/// The SDK's handler, as its documentation sets it up.
fn handler(tasks: impl TaskStore, mended: bool) -> DefaultRequestHandler {
    let push = given("--push");
    let handler = DefaultRequestHandler::new(CountWords::new(mended), tasks)
        .with_capabilities(capabilities(push))
        .with_default_input_modes(vec!["text/plain".to_owned()]);
    if push && mended {
        // the store looks at addresses: the sender's own look ends the task, and knows no receiver of the operator's
        let sender = HttpPushSender::new(Some(HttpPushSenderConfig { validate_urls: false, ..Default::default() }));
        handler.with_push_notifications(Screened::new(value("--push-to")), sender)
    } else if push {
        handler.with_push_config_store(InMemoryPushConfigStore::new())
    } else {
        handler
    }
}

async fn serve<H: RequestHandler>(
    port: u16,
    card: AgentCard,
    handler: Arc<H>,
    mended: bool,
) -> Result<(), Box<dyn Error>> {
    let mut app = agent_card_router(Arc::new(StaticAgentCard::new(card))).nest("/rpc", jsonrpc_router(handler.clone()));
    if value("--rest-url").is_some() {
        let rest = rest_router(handler.clone());
        let rest = if mended { rest.layer(axum::middleware::map_response(in_the_bindings_words)) } else { rest };
        app = app.nest("/rest", rest);
    }
    let over_http = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let http = async { axum::serve(over_http, app).await.map_err(Box::<dyn Error>::from) };
    let Some(port) = number("--grpc-port")? else { return http.await };
    let service = A2aServiceServer::new(GrpcHandler::new(handler));
    let server = tonic::transport::Server::builder().add_service(service).serve((Ipv4Addr::LOCALHOST, port).into());
    let grpc = async { server.await.map_err(Box::<dyn Error>::from) };
    tokio::try_join!(http, grpc).map(|_| ())
}

fn capabilities(push: bool) -> AgentCapabilities {
    AgentCapabilities {
        streaming: Some(true),
        push_notifications: Some(push),
        extensions: None,
        extended_agent_card: Some(false),
    }
}

fn card(interfaces: &[(&str, Option<String>)], push: bool) -> AgentCard {
    let skill = AgentSkill {
        id: "count-words".to_owned(),
        name: "Count words".to_owned(),
        description: "Counts the words and characters of the text it is sent.".to_owned(),
        tags: vec!["text".to_owned()],
        examples: Some(vec!["the quick brown fox".to_owned()]),
        input_modes: None,
        output_modes: None,
        security_requirements: None,
    };
    AgentCard {
        name: "Text statistics".to_owned(),
        description: "Counts the words and characters of a text.".to_owned(),
        version: "1.0.0".to_owned(),
        supported_interfaces: interfaces
            .iter()
            .filter_map(|(binding, url)| url.as_ref().map(|url| AgentInterface::new(url, *binding)))
            .collect(),
        capabilities: capabilities(push),
        default_input_modes: vec!["text/plain".to_owned()],
        default_output_modes: vec!["application/json".to_owned()],
        skills: vec![skill],
        provider: None,
        documentation_url: None,
        icon_url: None,
        security_schemes: None,
        security_requirements: None,
        signatures: None,
    }
}

fn given(name: &str) -> bool {
    std::env::args().any(|argument| argument == name)
}

fn value(name: &str) -> Option<String> {
    std::env::args().skip_while(|argument| argument != name).nth(1)
}

fn number<N: FromStr>(name: &str) -> Result<Option<N>, N::Err> {
    value(name).map(|text| text.parse()).transpose()
}
