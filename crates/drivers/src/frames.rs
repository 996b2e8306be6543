//! The pieces that an answer is reported in, within the bounds.

use bytes::{Bytes, BytesMut};
use ostiary_record::ports::Limits;

use crate::{messages::Messages, sse::Splitter};

/// Bytes of an answer beyond a bound that are kept as evidence.
const KEPT_BEYOND_BOUND: usize = 64 << 10;
/// Bytes of a buffer that may stay unused.
const SPARE: usize = 64 << 10;

/// Cuts a body into frames within the bounds.
pub(crate) struct Frames {
    limits: Limits,
    total: u64,
    count: u32,
    held: Held,
    over: bool,
}

/// Where one frame ends and the next begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Nowhere: the body is one frame.
    Whole,
    /// At the blank line of an event.
    Events,
    /// Behind a gRPC message.
    Messages,
}

enum Held {
    Whole(BytesMut),
    Events(Splitter),
    Messages(Messages),
}

// === impl Frames ===

impl Frames {
    pub(crate) fn new(cut: Cut, limits: Limits) -> Self {
        let held = match cut {
            Cut::Whole => Held::Whole(BytesMut::new()),
            Cut::Events => Held::Events(Splitter::default()),
            Cut::Messages => Held::Messages(Messages::default()),
        };
        Self { limits, total: 0, count: 0, held, over: false }
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        self.total += bytes.len() as u64;
        match &mut self.held {
            Held::Whole(body) => body.extend_from_slice(bytes),
            Held::Events(splitter) => splitter.feed(bytes),
            Held::Messages(messages) => messages.feed(bytes),
        }
        self.over = self.total > self.limits.body_bytes;
        if self.over { Err("body_bytes") } else { Ok(()) }
    }

    pub(crate) fn next_frame(&mut self) -> Option<(u32, Bytes)> {
        if self.count >= self.limits.frames {
            return None;
        }
        let block = match &mut self.held {
            Held::Whole(_) => return None,
            Held::Events(splitter) => splitter.next_block()?,
            Held::Messages(messages) => messages.next_message()?,
        };
        self.over |= block.len() as u64 > self.limits.frame_bytes;
        let n = self.count;
        self.count += 1;
        Some((n, block))
    }

    pub(crate) fn bounded(&mut self) -> Result<(), &'static str> {
        let held = match &self.held {
            Held::Whole(body) => body.len() as u64,
            _ if self.count >= self.limits.frames => return self.exceeded("frames"),
            Held::Events(splitter) => splitter.held() as u64,
            Held::Messages(messages) => messages.announced(),
        };
        if self.over || held > self.limits.frame_bytes { self.exceeded("frame_bytes") } else { Ok(()) }
    }

    fn exceeded(&mut self, which: &'static str) -> Result<(), &'static str> {
        self.over = true;
        Err(which)
    }

    /// What is left at the end: the whole body, or an event whose blank line never came. Of an answer beyond its
    /// bounds only the beginning is kept.
    pub(crate) fn rest(&mut self) -> Option<(u32, Bytes)> {
        let mut rest = match &mut self.held {
            // a copy, where the buffer grew far beyond what is kept for good
            Held::Whole(body) if body.capacity() > body.len() + SPARE => Bytes::copy_from_slice(&body.split()),
            Held::Whole(body) => body.split().freeze(),
            Held::Events(splitter) => splitter.rest(),
            Held::Messages(messages) => messages.rest(),
        };
        if self.over {
            // a copy, since a slice would keep all of it in memory
            rest = Bytes::copy_from_slice(&rest[..rest.len().min(KEPT_BEYOND_BOUND)]);
        }
        (!rest.is_empty()).then_some((self.count, rest))
    }
}
