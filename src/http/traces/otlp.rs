//! The client of a collector of traces: spans in batches, by a thread of its own.

use std::sync::OnceLock;
use std::time::SystemTime;

use opentelemetry::trace::{
    SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{
    BatchSpanProcessor, SpanData, SpanEvents, SpanLinks, SpanProcessor as _,
};

use super::span::{self, Finished};

/// The name of this program in traces.
const SERVICE: &str = "caudal";

static CLIENT: OnceLock<BatchSpanProcessor> = OnceLock::new();

pub(super) fn begin(endpoint: &str) -> Result<(), String> {
    let processor = made(endpoint)?;
    CLIENT
        .set(processor)
        .map_err(|_| "sending traces was begun before".to_owned())
}

fn made(endpoint: &str) -> Result<BatchSpanProcessor, String> {
    let exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(endpoint)
        .build()
        .map_err(|why| why.to_string())?;
    let mut processor = BatchSpanProcessor::builder(exporter).build();
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let resource = Resource::builder().with_service_name(SERVICE);
    processor.set_resource(&resource.with_attribute(version).build());
    Ok(processor)
}

pub(super) fn end() {
    if let Some(client) = CLIENT.get()
        && let Err(why) = client.shutdown()
    {
        tracing::warn!(%why, "the last spans were not sent");
    }
}

pub(super) fn is_on() -> bool {
    CLIENT.get().is_some()
}

pub(super) fn send(span: Finished) {
    if let Some(client) = CLIENT.get() {
        client.on_end(data(span));
    }
}

fn data(span: Finished) -> SpanData {
    let context = SpanContext::new(
        TraceId::from(span.trace),
        SpanId::from(span.span),
        TraceFlags::SAMPLED,
        false,
        TraceState::default(),
    );
    let about = span.about.into_iter();
    SpanData {
        span_context: context,
        parent_span_id: span
            .parent
            .map_or(SpanId::INVALID, |(id, _)| SpanId::from(id)),
        parent_span_is_remote: span.parent.is_some_and(|(_, remote)| remote),
        span_kind: match span.kind {
            span::SpanKind::Answered => SpanKind::Server,
            span::SpanKind::Asked => SpanKind::Client,
        },
        name: span.name.into(),
        start_time: span.began,
        end_time: SystemTime::now(),
        attributes: about
            .map(|(name, value)| KeyValue::new(name, value))
            .collect(),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: if span.failed {
            Status::error("")
        } else {
            Status::Unset
        },
        instrumentation_scope: InstrumentationScope::builder(SERVICE).build(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::time::Duration;

    use super::*;

    #[test]
    fn spans_reach_a_collector() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = format!("http://{}/v1/traces", listener.local_addr().unwrap());
        let collector = std::thread::spawn(move || {
            let (mut peer, _) = listener.accept().unwrap();
            peer.set_read_timeout(Some(Duration::from_secs(60)))
                .unwrap();
            let (mut got, mut part) = (Vec::new(), [0; 4096]);
            // The attributes of a span come after its name and its ids.
            let last = b"http.response.status_code";
            while !got.windows(last.len()).any(|it| it == last) {
                let read = peer.read(&mut part).unwrap();
                assert!(read > 0, "{}", String::from_utf8_lossy(&got));
                got.extend_from_slice(&part[..read]);
            }
            peer.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                .unwrap();
            got
        });
        let client = made(&place).unwrap();
        client.on_end(data(Finished {
            trace: 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736,
            span: 0x00f0_67aa_0ba9_02b7,
            parent: Some((7, true)),
            kind: span::SpanKind::Answered,
            name: "GET /v1/accounts/{cvu}".to_owned(),
            began: SystemTime::now(),
            about: vec![("http.response.status_code", "200".to_owned())],
            failed: false,
        }));
        client.force_flush().unwrap();
        let got = collector.join().unwrap();
        assert!(got.starts_with(b"POST /v1/traces HTTP/1.1\r\n"));
        for bytes in [
            &0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736_u128.to_be_bytes()[..],
            &0x00f0_67aa_0ba9_02b7_u64.to_be_bytes()[..],
            b"GET /v1/accounts/{cvu}",
        ] {
            assert!(got.windows(bytes.len()).any(|it| it == bytes), "{bytes:?}");
        }
    }
}
