//! The control plane's time over one watch: echoes, silence, and how far this machine is off.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use ostiary_proto::admission::v1::{self as wire, watch_admissions_request::Message as Request};

use super::passed;
use crate::{
    time::{Bounds, Echoed},
    view::Trouble,
};

/// How often the control plane is asked for its time: uncertainty grows by a thousandth of it.
const ECHO_EVERY: Duration = Duration::from_secs(2);

/// What is known of the control plane's time.
#[derive(Default)]
pub(super) struct WatchTime {
    clock: Option<Bounds>,
    /// The clock is this machine's own word; the first echo replaces it.
    assumed: bool,
    /// The echo that is not answered yet: its nonce, and when it left.
    open: Option<(u64, i64)>,
    nonce: u64,
    echoed_at: i64,
    heard_at: i64,
    trouble: Option<Trouble>,
}

// === impl WatchTime ===

impl WatchTime {
    pub(super) fn assume(&mut self, bounds: Bounds) {
        if self.clock.is_none() {
            self.clock = Some(bounds);
            self.assumed = true;
        }
    }

    pub(super) fn heard(&mut self, boot: i64) {
        self.heard_at = boot;
    }

    /// The connection is gone, and its open echo with it.
    pub(super) fn lost(&mut self) {
        self.open = None;
    }

    pub(super) fn silent_for(&self, boot: i64) -> Duration {
        passed(self.heard_at, boot)
    }

    pub(super) fn echo(&mut self, boot: i64) -> Request {
        self.nonce += 1;
        self.open = Some((self.nonce, boot));
        self.echoed_at = boot;
        Request::Echo(wire::Echo { nonce: self.nonce })
    }

    pub(super) fn echo_if_due(&mut self, boot: i64) -> Option<Request> {
        (passed(self.echoed_at, boot) >= ECHO_EVERY).then(|| self.echo(boot))
    }

    /// Takes an answer; says whether it was one. Each echo counts once, so a repeated answer proves nothing.
    pub(super) fn answered(&mut self, nonce: u64, at: Timestamp, received: i64) -> bool {
        let Some((_, sent)) = self.open.take_if(|(open, _)| *open == nonce) else { return false };
        let echo = Echoed { sent, received, at };
        self.clock = Some(match self.clock {
            Some(clock) if !self.assumed => clock.and(&echo),
            _ => Bounds::of(&echo),
        });
        self.assumed = false;
        true
    }

    /// A verified head was issued at `issued`: the control plane's clock has reached that, whatever echoes said.
    pub(super) fn reached(&mut self, issued: Timestamp, boot: i64) {
        // A machine that starts with a clock from before the head would take any lease for a live one.
        let wrong = self.assumed && self.clock.is_some_and(|clock| clock.at(boot).latest < issued);
        self.clock = if wrong { None } else { self.clock.map(|clock| clock.not_before(issued, boot)) };
    }

    /// Judges this machine's time of day and the width of what is known.
    pub(super) fn measure(&mut self, wall: Timestamp, boot: i64, tolerated: SignedDuration) {
        self.trouble = self.clock.and_then(|clock| {
            if clock.skew(wall, boot) > tolerated {
                Some(Trouble::Skewed)
            } else if !self.assumed && clock.uncertainty(boot) > tolerated {
                Some(Trouble::Uncertain)
            } else {
                None
            }
        });
    }

    pub(super) fn clock(&self) -> Option<Bounds> {
        self.clock
    }

    pub(super) fn trouble(&self) -> Option<Trouble> {
        self.trouble
    }
}
