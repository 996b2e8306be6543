//! How many scenarios call at the same time. One that only waits holds no slot: waits overlap, however many there are. Who
//! has waited goes on at once, since what it waited for does not: then none begins until there are few enough again.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use futures::channel::oneshot;

/// A number of slots.
#[derive(Clone)]
pub(crate) struct Slots(Arc<Mutex<State>>);

/// One slot; free again when dropped.
pub(crate) struct Slot(Option<Slots>);

struct State {
    /// Below zero when some have come back to more than there are.
    free: isize,
    waiting: VecDeque<oneshot::Sender<Slot>>,
}

// === impl Slots ===

impl Slots {
    /// So many, at least one.
    pub(crate) fn new(count: usize) -> Self {
        let free = isize::try_from(count.max(1)).unwrap_or(isize::MAX);
        Self(Arc::new(Mutex::new(State { free, waiting: VecDeque::new() })))
    }

    /// Takes one, in the order of asking.
    pub(crate) async fn take(&self) -> Slot {
        let next = {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if state.free > 0 {
                state.free -= 1;
                return Slot(Some(self.clone()));
            }
            let (sender, next) = oneshot::channel();
            state.waiting.push_back(sender);
            next
        };
        // the sender stays in the queue until it sends, and the queue lives as long as its slots
        next.await.unwrap_or(Slot(None))
    }

    /// Takes one again after a wait, before everybody who has not begun.
    pub(crate) fn take_again(&self) -> Slot {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).free -= 1;
        Slot(Some(self.clone()))
    }

    /// Hands a slot on. Whoever gave up waiting is passed over.
    fn give_back(&self) {
        let mut slot = Slot(Some(self.clone()));
        loop {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let next = if state.free < 0 { None } else { state.waiting.pop_front() };
            let Some(sender) = next else {
                state.free += 1;
                // it is free; dropping it would free it again
                slot.0 = None;
                return;
            };
            drop(state);
            match sender.send(slot) {
                Ok(()) => return,
                Err(back) => slot = back,
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(slots) = self.0.take() {
            slots.give_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn a_slot_goes_to_who_asked_first_and_still_wants_it() {
        let slots = Slots::new(1);
        let held = slots.take().now_or_never().unwrap();
        let mut given_up = Box::pin(slots.take());
        let mut first = Box::pin(slots.take());
        let mut second = Box::pin(slots.take());
        for waiting in [&mut given_up, &mut first, &mut second] {
            assert!(waiting.now_or_never().is_none());
        }
        drop(given_up);
        drop(held);
        assert!(second.as_mut().now_or_never().is_none());
        let held = first.now_or_never().unwrap();
        drop(held);
        // handed over, and dropped before it was looked at
        drop(second);
        assert!(slots.take().now_or_never().is_some());
    }

    #[test]
    fn who_has_waited_goes_on_at_once_and_keeps_others_from_beginning() {
        let slots = Slots::new(1);
        let held = slots.take().now_or_never().unwrap();
        let mut begins = Box::pin(slots.take());
        assert!(begins.as_mut().now_or_never().is_none());
        let back = slots.take_again();
        drop(held);
        assert!(begins.as_mut().now_or_never().is_none(), "one calls already");
        drop(back);
        assert!(begins.now_or_never().is_some());
    }
}
