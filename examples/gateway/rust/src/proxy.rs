use crate::body::{Body, text};
use bytes::Bytes;
use http_body_util::{BodyExt, Either, Empty};
use hyper::body::{Body as _, Incoming};
use hyper::header::*;
use hyper::http::uri::{Authority, PathAndQuery, Scheme};
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use ratel::tower::Peer;

const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Fields of one connection, beside those that `Connection` lists.
const OF_ONE_CONNECTION: [HeaderName; 9] = [
    CONNECTION,
    PROXY_CONNECTION,
    KEEP_ALIVE,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

type Outgoing = Either<Incoming, Empty<Bytes>>;

/// Passes requests and answers on as they came, piece by piece.
#[derive(Clone)]
pub struct Proxy {
    upstream: Authority,
    client: Client<HttpConnector, Outgoing>,
}

impl Proxy {
    pub fn new(upstream: Authority) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let mut builder = Client::builder(TokioExecutor::new());
        builder.pool_timer(TokioTimer::new()).http1_title_case_headers(true);
        builder.http1_ignore_invalid_headers_in_responses(true);
        Self { upstream, client: builder.build(connector) }
    }

    pub async fn pass(&self, request: Request<Option<Incoming>>) -> Response<Body> {
        let Some(request) = self.rewrite(request) else { return text(StatusCode::BAD_REQUEST, "bad request") };
        let has_body = !request.body().is_end_stream();
        match self.client.request(request).await {
            Ok(mut response) => {
                drop_fields_of_one_connection(response.headers_mut());
                response.map(BodyExt::boxed_unsync)
            }
            Err(_) => {
                let mut response = text(StatusCode::BAD_GATEWAY, "the server behind the gateway gave no answer");
                if has_body {
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                response
            }
        }
    }

    /// `None`: a target that cannot be passed on.
    fn rewrite(&self, request: Request<Option<Incoming>>) -> Option<Request<Outgoing>> {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/"));
        let uri = Uri::builder().scheme(Scheme::HTTP).authority(self.upstream.clone()).path_and_query(path).build();
        let mut out = Request::new(body.map_or(Either::Right(Empty::new()), Either::Left));
        *out.method_mut() = parts.method;
        *out.uri_mut() = uri.ok()?;
        let mut headers = parts.headers;
        drop_fields_of_one_connection(&mut headers);
        // Forwarded stays behind: nobody is added to it here, so the next hop would believe what the client wrote
        // there.
        for name in [CONTENT_LENGTH, EXPECT, FORWARDED] {
            headers.remove(name);
        }
        if let Some(host) = parts.uri.authority() {
            headers.insert(HOST, HeaderValue::from_str(host.as_str()).ok()?);
        }
        let peer = parts.extensions.get::<Peer>().map_or(String::new(), |peer| peer.0.to_string());
        let chain = headers.get_all(X_FORWARDED_FOR).iter().map(HeaderValue::as_bytes).chain([peer.as_bytes()]);
        let chain = HeaderValue::from_bytes(&chain.collect::<Vec<_>>().join(&b", "[..])).ok()?;
        headers.insert(X_FORWARDED_FOR, chain);
        *out.headers_mut() = headers;
        Some(out)
    }
}

fn drop_fields_of_one_connection(headers: &mut HeaderMap) {
    let listed =
        headers.get_all(CONNECTION).iter().filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(','));
    let listed: Vec<HeaderName> = listed.filter_map(|name| name.trim().parse().ok()).collect();
    for name in listed.into_iter().chain(OF_ONE_CONNECTION) {
        headers.remove(name);
    }
}
