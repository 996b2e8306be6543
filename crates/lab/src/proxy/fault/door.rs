//! Where a proxy listens: a port that can be closed, so that connections are really refused, and opened again.

use std::{io, net::SocketAddr, time::Duration};

use ostiary_record::Down;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_util::sync::CancellationToken;

use super::FaultHandle;

/// What the door says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::proxy) enum Door {
    Open,
    Closed,
    /// It cannot be opened again.
    Failed(String),
}

/// A port that stays ours while nobody listens on it.
pub(in crate::proxy) struct Port {
    addr: SocketAddr,
    listener: Option<TcpListener>,
    /// Bound and never listening: it keeps the number while the door is closed.
    _keeper: TcpSocket,
}

/// Connections that wait to be taken.
const BACKLOG: u32 = 1024;

// === impl Port ===

impl Port {
    /// Binds and listens.
    pub(in crate::proxy) fn open(listen: SocketAddr) -> io::Result<Self> {
        // A port that somebody else holds is an error, although sockets that share one would be let in.
        let alone = socket(listen)?;
        alone.set_reuseaddr(true)?;
        alone.bind(listen)?;
        drop(alone);
        let keeper = bound(listen)?;
        let addr = keeper.local_addr()?;
        Ok(Self { addr, listener: Some(bound(addr)?.listen(BACKLOG)?), _keeper: keeper })
    }

    pub(in crate::proxy) const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The next connection; `None` = the proxy stops.
    pub(in crate::proxy) async fn accept(
        &mut self,
        faults: &FaultHandle,
        stop: &CancellationToken,
    ) -> Option<TcpStream> {
        let mut down = faults.watch();
        loop {
            let refuse = *down.borrow_and_update() == Some(Down::Refuse);
            self.turn(refuse, faults);
            let accepted = async {
                match &self.listener {
                    Some(listener) => listener.accept().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = stop.cancelled() => return None,
                changed = down.changed() => changed.ok()?,
                accepted = accepted => match accepted {
                    Ok((tcp, _)) => {
                        // Delay would only blur times; where it cannot be switched off, nothing is lost but that.
                        let _ = tcp.set_nodelay(true);
                        return Some(tcp);
                    }
                    // Out of file descriptors, most likely: give others the time to close some.
                    Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                },
            }
        }
    }

    fn turn(&mut self, refuse: bool, faults: &FaultHandle) {
        let door = match (refuse, &self.listener) {
            (true, Some(_)) => {
                self.listener = None;
                Door::Closed
            }
            (false, None) => match bound(self.addr).and_then(|socket| socket.listen(BACKLOG)) {
                Ok(listener) => {
                    self.listener = Some(listener);
                    Door::Open
                }
                Err(error) => Door::Failed(error.to_string()),
            },
            _ => return,
        };
        faults.desk.door.send_replace(door);
    }
}

fn bound(addr: SocketAddr) -> io::Result<TcpSocket> {
    let socket = socket(addr)?;
    socket.set_reuseaddr(true)?;
    // Both sockets of a port must say so: the keeper's and the listener's.
    #[cfg(unix)]
    socket.set_reuseport(true)?;
    socket.bind(addr)?;
    Ok(socket)
}

fn socket(addr: SocketAddr) -> io::Result<TcpSocket> {
    if addr.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }
}
