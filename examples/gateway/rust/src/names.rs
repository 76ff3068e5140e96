//! `http` knows field names in lower case alone, so hyper would write "X-Ratelimit-Limit" in title case at best. What
//! it does keep, on demand, is the spelling of a head that it has read: a response with these extensions is written
//! with the names spelled like this.

use hyper::client::conn::http1::Builder;
use hyper::http::Extensions;
use hyper_util::rt::TokioIo;
use std::error::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\n\
X-RateLimit-Limit: 0\r\nX-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 0\r\n\
RateLimit-Policy: 0\r\nRateLimit: 0\r\nRateLimit-Limit: 0\r\nRateLimit-Remaining: 0\r\nRateLimit-Reset: 0\r\n\
Content-Length: 0\r\n\r\n";

/// Lets hyper read such a head.
pub async fn exact() -> Result<Extensions, Box<dyn Error>> {
    let (near, mut far) = tokio::io::duplex(HEAD.len());
    let (mut sender, connection) = Builder::new()
        .preserve_header_case(true)
        .handshake::<_, http_body_util::Empty<bytes::Bytes>>(TokioIo::new(near))
        .await?;
    let connection = tokio::spawn(connection);
    let answer = async {
        let mut request = [0; 256];
        let _ = far.read(&mut request).await?;
        far.write_all(HEAD).await
    };
    let (response, answered) = tokio::join!(sender.send_request(Default::default()), answer);
    answered?;
    connection.abort();
    Ok(response?.into_parts().0.extensions)
}
