//! Ways to the candidate that can be disturbed: each has a proxy of the laboratory of its own, so that a scenario that
//! breaks its connections breaks nobody else's.

use std::sync::Arc;

use ostiary_drivers::HttpTransport;
use ostiary_lab::{TcpOptions, TcpProxy};
use ostiary_record::{
    ExchangeId, Monotonic, Tape,
    ports::{
        Abort, Actor, BoxFuture, Channel, CouldNotRun, Deadline, Detour, Detours, Limits, Next, Outbound, Target,
        Transport,
    },
};

/// What stands behind the proxies, in ledgers.
const PLACE: &str = "agent";

/// Makes ways by the routing and the guard of a transport.
pub(super) struct ProxyDetours {
    pub(super) transport: HttpTransport,
    /// The clock of the ledgers: the run's own.
    pub(super) clock: Arc<dyn Monotonic>,
}

/// A transport that goes through a proxy.
struct Led {
    transport: HttpTransport,
    proxy: Arc<TcpProxy>,
}

/// A channel that keeps its proxy.
struct LedChannel {
    channel: Box<dyn Channel>,
    _proxy: Arc<TcpProxy>,
}

impl Detours for ProxyDetours {
    fn to<'a>(&'a self, target: &'a Target) -> BoxFuture<'a, Result<Detour, CouldNotRun>> {
        Box::pin(async move {
            let behind = self.transport.address_of(target).await?;
            let clock = Some(Arc::clone(&self.clock));
            let options = TcpOptions { place: PLACE.to_owned(), clock, ..TcpOptions::default() };
            let failed = |e: std::io::Error| CouldNotRun::Setup {
                what: "a proxy on the way to the candidate".to_owned(),
                why: e.to_string(),
            };
            let proxy = TcpProxy::start(behind.to_string(), options).await.map_err(failed)?;
            let transport = self.transport.led(target, proxy.addr())?;
            let faults = Arc::new(proxy.faults());
            Ok(Detour { transport: Arc::new(Led { transport, proxy: Arc::new(proxy) }), faults })
        })
    }
}

impl Transport for Led {
    fn open<'a>(
        &'a self,
        tape: &'a Tape,
        target: &'a Target,
        actor: &'a Actor,
        limits: Limits,
    ) -> BoxFuture<'a, Result<Box<dyn Channel>, CouldNotRun>> {
        Box::pin(async move {
            let channel = self.transport.open(tape, target, actor, limits).await?;
            Ok(Box::new(LedChannel { channel, _proxy: Arc::clone(&self.proxy) }) as Box<dyn Channel>)
        })
    }
}

impl Channel for LedChannel {
    fn start(&mut self, out: Outbound) -> ExchangeId {
        self.channel.start(out)
    }

    fn next(&mut self, until: Deadline) -> BoxFuture<'_, Next> {
        self.channel.next(until)
    }

    fn abort(&mut self, x: ExchangeId, how: Abort) {
        self.channel.abort(x, how);
    }
}
