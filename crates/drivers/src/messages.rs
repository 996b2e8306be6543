//! gRPC's framing: five bytes before each message say whether it is compressed and how long it is.

use bytes::{Bytes, BytesMut};

/// Cuts bytes behind each message; its prefix stays with it.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    held: BytesMut,
}

const PREFIX: usize = 5;

// === impl Messages ===

impl Messages {
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// The next whole message with its prefix.
    pub(crate) fn next_message(&mut self) -> Option<Bytes> {
        let whole = usize::try_from(self.length()?).ok()?.checked_add(PREFIX)?;
        (self.held.len() >= whole).then(|| self.held.split_to(whole).freeze())
    }

    /// How many bytes the message that is coming will have, as its prefix says: a bound is hit before they are here.
    pub(crate) fn announced(&self) -> u64 {
        self.length().map_or(self.held.len() as u64, u64::from)
    }

    /// What is left when no more comes: a message that was cut off.
    pub(crate) fn rest(&mut self) -> Bytes {
        self.held.split().freeze()
    }

    fn length(&self) -> Option<u32> {
        let (prefix, _) = self.held.split_first_chunk::<PREFIX>()?;
        let [_, length @ ..] = *prefix;
        Some(u32::from_be_bytes(length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_cut_behind_their_length_wherever_the_bytes_were_split() {
        let wire = b"\0\0\0\0\x02ab\x01\0\0\0\0\0\0\0\0\x01c";
        for cut in 0..wire.len() {
            let (mut messages, mut seen) = (Messages::default(), Vec::new());
            for piece in [&wire[..cut], &wire[cut..]] {
                messages.feed(piece);
                seen.extend(std::iter::from_fn(|| messages.next_message()));
            }
            assert_eq!(seen, [&b"\0\0\0\0\x02ab"[..], b"\x01\0\0\0\0", b"\0\0\0\0\x01c"], "cut at {cut}");
            assert!(messages.rest().is_empty());
        }
    }

    #[test]
    fn a_length_is_believed_before_its_bytes_came() {
        let mut messages = Messages::default();
        messages.feed(b"\0\x40\0\0");
        assert_eq!(messages.announced(), 4);
        messages.feed(b"\0x");
        assert_eq!(messages.announced(), 1 << 30);
        assert_eq!(messages.next_message(), None);
        assert_eq!(&messages.rest()[..], b"\0\x40\0\0\0x");
    }
}
