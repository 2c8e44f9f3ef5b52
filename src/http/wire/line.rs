//! The bytes of a connection: as they are, or encrypted.
//!
//! **Failure.** A client that goes without the closing message of TLS has closed its side, like one without TLS:
//! whether its request is whole follows from the request's own framing.

use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// A connection below HTTP.
#[derive(Debug)]
pub enum Line {
    /// Not encrypted: the bytes can be read on the way.
    Plain(TcpStream),
    /// Encrypted.
    Tls(Box<TlsStream<TcpStream>>),
}

impl Line {
    /// The socket, for options and queries below the stream of bytes.
    pub(super) fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(io) => io,
            Self::Tls(io) => io.get_ref().0,
        }
    }
}

impl AsyncRead for Line {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(io) => pin!(io).poll_read(cx, buf),
            Self::Tls(io) => match ready!(pin!(io).poll_read(cx, buf)) {
                Err(why) if why.kind() == io::ErrorKind::UnexpectedEof => Poll::Ready(Ok(())),
                read => Poll::Ready(read),
            },
        }
    }
}

impl AsyncWrite for Line {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(io) => pin!(io).poll_write(cx, buf),
            Self::Tls(io) => pin!(io).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(io) => pin!(io).poll_flush(cx),
            Self::Tls(io) => pin!(io).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(io) => pin!(io).poll_shutdown(cx),
            Self::Tls(io) => pin!(io).poll_shutdown(cx),
        }
    }
}
