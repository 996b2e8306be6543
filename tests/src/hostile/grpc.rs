//! A gRPC server whose every frame is decided by hand.

use std::{
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
};

use anyhow::{Context as _, Result};
use ostiary_protocol::a2a::grpc::wire::put_bytes;

/// Types of frames (RFC 9113 §6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// `:status 200` and `content-type: application/grpc`, neither indexed nor compressed but for the status.
const HEAD: &[u8] = b"\x88\0\x0ccontent-type\x10application/grpc";
/// `grpc-status: 0`.
const OK: &[u8] = b"\0\x0bgrpc-status\x010";
/// A message of nine bytes of which four came.
const HALF: &[u8] = b"\0\0\0\0\x09half";

/// What is said to every call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    /// That it went well, and no message.
    OnlyTrailers,
    /// A message, and no trailers.
    NoTrailers,
    /// A message that ends before its length.
    EndsInside,
    /// The same, and then the stream is reset.
    ResetsInside,
    /// The same, and then the connection is closed with a goodbye.
    GoesAway,
    /// That four gibibytes will come.
    FourGibibytes,
    /// A message with the flag of compression.
    Compressed,
    /// Bytes that are no message.
    Garbage,
    /// Values in each other, hundreds of them.
    Deep,
    /// Messages without end.
    ForEver,
    /// One with a great many empty parts.
    ManyValues,
    /// Fields without end.
    EndlessFields,
    /// Pings without end.
    Pings,
    /// A head, and then nothing.
    Silent,
}

/// Starts a server; it lasts as long as the test's process.
///
/// # Errors
/// When it cannot listen.
pub fn serve(habit: Habit) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").context("failed to listen")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for peer in listener.incoming().flatten() {
            // how a connection ends that means harm is the client's affair
            std::thread::spawn(move || drop(converse(peer, habit)));
        }
    });
    Ok(address)
}

fn converse(mut peer: TcpStream, habit: Habit) -> io::Result<()> {
    let mut preface = [0; 24];
    peer.read_exact(&mut preface)?;
    if !preface.starts_with(b"PRI * HTTP/2.0") {
        // somebody tries TLS first: what is no TLS is seen at once
        return peer.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    }
    frame(&mut peer, SETTINGS, 0, 0, b"")?;
    frame(&mut peer, SETTINGS, 1, 0, b"")?;
    loop {
        let mut head = [0; 9];
        peer.read_exact(&mut head)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        io::copy(&mut (&mut peer).take(length.into()), &mut io::sink())?;
        if matches!(head[3], DATA | HEADERS) && head[4] & END_STREAM != 0 {
            act(&mut peer, u32::from_be_bytes([head[5], head[6], head[7], head[8]]), habit)?;
        }
    }
}

fn act(peer: &mut TcpStream, stream: u32, habit: Habit) -> io::Result<()> {
    if habit == Habit::EndlessFields {
        frame(peer, HEADERS, 0, stream, b"\x88")?;
        return repeat(peer, CONTINUATION, stream, b"\0\x01x\x01y");
    }
    frame(peer, HEADERS, END_HEADERS, stream, HEAD)?;
    let says = |peer: &mut TcpStream, body: &[u8]| {
        for piece in body.chunks(16 << 10) {
            frame(peer, DATA, 0, stream, piece)?;
        }
        frame(peer, HEADERS, END_HEADERS | END_STREAM, stream, OK)
    };
    match habit {
        Habit::OnlyTrailers => says(peer, b""),
        Habit::NoTrailers => frame(peer, DATA, END_STREAM, stream, b"\0\0\0\0\0"),
        Habit::EndsInside => says(peer, HALF),
        Habit::ResetsInside => {
            frame(peer, DATA, 0, stream, HALF)?;
            frame(peer, RST_STREAM, 0, stream, &2_u32.to_be_bytes())
        }
        Habit::GoesAway => {
            frame(peer, DATA, 0, stream, HALF)?;
            frame(peer, GOAWAY, 0, 0, &[stream.to_be_bytes(), [0; 4]].concat())?;
            peer.shutdown(std::net::Shutdown::Both)
        }
        Habit::FourGibibytes => says(peer, b"\0\xff\xff\xff\xffand so on"),
        Habit::Compressed => says(peer, b"\x01\0\0\0\x02hi"),
        Habit::Garbage => says(peer, b"\0\0\0\0\x04\xff\xff\xff\xff"),
        Habit::Deep => says(peer, &message(&deep())),
        Habit::ForEver => repeat(peer, DATA, stream, b"\0\0\0\0\0"),
        Habit::ManyValues => says(peer, &message(&inside(2, &[0x2a, 0].repeat(150_000)))),
        Habit::Pings => repeat(peer, PING, 0, &[0; 8]),
        Habit::Silent | Habit::EndlessFields => Ok(()),
    }
}

fn repeat(peer: &mut TcpStream, kind: u8, stream: u32, payload: &[u8]) -> io::Result<()> {
    loop {
        frame(peer, kind, 0, stream, payload)?;
    }
}

fn frame(peer: &mut TcpStream, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> io::Result<()> {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes();
    peer.write_all(&[&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat())
}

fn message(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes();
    [&[0], &length[..], bytes].concat()
}

fn inside(field: u32, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_bytes(&mut out, field, bytes);
    out
}

/// `StreamResponse.message.parts[0].data` with lists in lists; for other messages just as wrong.
fn deep() -> Vec<u8> {
    let value = (0..300).fold(b"\x08\0".to_vec(), |value, _| inside(6, &inside(1, &value)));
    // message = 2 of SendMessageResponse; parts = 5 of Message; data = 4 of Part
    inside(2, &inside(5, &inside(4, &value)))
}
