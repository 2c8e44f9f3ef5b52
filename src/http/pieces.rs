//! Bodies on their way out: large ones in pieces, so that bytes which a client does not take are not copied; and each
//! body carries the mark that its request is under way.
//!
//! **Bounds.** The HTTP library copies what it gets into the buffer of the connection. It gets [`PIECE_BYTES`] at a
//! time, when there is room, so that thousands of clients that ask for one document share its bytes.

use std::pin::Pin;
use std::task::{Context, Poll};

use actix_web::body::{BodySize, EitherBody, MessageBody};
use actix_web::web::Bytes;
use pin_project_lite::pin_project;

use super::wire::UnderWay;

/// How much of a body is copied for a connection at a time, in bytes.
pub(crate) const PIECE_BYTES: usize = 32 * 1024;

/// A body that is handed out in pieces.
#[derive(Clone, Debug, Default)]
pub struct Pieces(Bytes);

impl MessageBody for Pieces {
    type Error = std::convert::Infallible;

    fn size(&self) -> BodySize {
        self.0.size()
    }

    fn poll_next(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        let rest = &mut self.get_mut().0;
        if rest.is_empty() {
            return Poll::Ready(None);
        }
        let piece = rest.split_to(PIECE_BYTES.min(rest.len()));
        Poll::Ready(Some(Ok(piece)))
    }
}

pin_project! {
    /// A body with the request that it answers: when it is dropped, all of it has been written or
    /// nobody wants it any more.
    #[derive(Debug)]
    pub struct Carried<B> {
        #[pin]
        body: EitherBody<B, Pieces>,
        under_way: Option<UnderWay>,
    }
}

impl<B: MessageBody + 'static> MessageBody for Carried<B> {
    type Error = <EitherBody<B, Pieces> as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        self.project().body.poll_next(cx)
    }
}

/// The same body, in pieces if it is large and already in memory.
pub(crate) fn carry<B: MessageBody + 'static>(body: B, under_way: Option<UnderWay>) -> Carried<B> {
    let large = |length| usize::try_from(length).is_ok_and(|length| length > PIECE_BYTES);
    let body = match body.size() {
        BodySize::Sized(length) if large(length) => match body.try_into_bytes() {
            Ok(bytes) => EitherBody::right(Pieces(bytes)),
            Err(body) => EitherBody::left(body),
        },
        BodySize::Sized(_) | BodySize::None | BodySize::Stream => EitherBody::left(body),
    };
    Carried { body, under_way }
}

/// An empty body, in place of another one.
pub(crate) fn nothing<B>(under_way: Option<UnderWay>) -> Carried<B> {
    let body = EitherBody::right(Pieces::default());
    Carried { body, under_way }
}

#[cfg(test)]
mod tests {
    use actix_web::body;

    use super::*;

    #[actix_web::test]
    async fn a_large_body_arrives_whole_and_in_pieces() {
        let text: String = ('a'..='z').cycle().take(PIECE_BYTES * 3 + 7).collect();
        let mut large = carry(text.clone(), None);
        assert_eq!(large.size(), text.size());
        let mut pieces = Vec::new();
        while let Some(piece) = std::future::poll_fn(|cx| Pin::new(&mut large).poll_next(cx)).await
        {
            pieces.push(piece.ok().unwrap());
        }
        let lengths: Vec<_> = pieces.iter().map(Bytes::len).collect();
        assert_eq!(lengths, [PIECE_BYTES, PIECE_BYTES, PIECE_BYTES, 7]);
        assert_eq!(pieces.concat(), text.as_bytes());
        let small = body::to_bytes(carry("small".to_owned(), None))
            .await
            .ok()
            .unwrap();
        assert_eq!(small, "small");
    }
}
