use hyper::Uri;
use hyper::header::HeaderName;
use hyper::http::uri::Authority;
use lexopt::{Arg, Parser, ValueExt};
use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

pub const USAGE: &str = "\
usage: gateway --rules FILE [--listen HOST:PORT] [--upstream http://HOST:PORT] [--watch-ms N]
               [--redis URL] [--idempotency-header NAME]

  --rules FILE     rule file or folder; read again when it changes
  --listen         where to listen (127.0.0.1:0, a free port); the port is printed
  --upstream       the server to pass requests on to; without it the gateway answers by itself
  --watch-ms N     how often to look at the rules, in milliseconds (1000)
  --redis URL      where the counts are, shared by all gateways with the same RATEL_SECRET in their environment
  --idempotency-header NAME
                   a request that comes again with the same value is not charged again
";

#[derive(Debug)]
pub struct Options {
    pub rules: PathBuf,
    pub listen: String,
    /// `None`: the gateway answers by itself.
    pub upstream: Option<Authority>,
    pub watch: Duration,
    /// `None`: counts are in this process.
    pub redis: Option<String>,
    pub idempotency_header: Option<HeaderName>,
}

impl Options {
    /// `None`: the usage is asked for.
    pub fn parse(mut arguments: Parser) -> Result<Option<Self>, Box<dyn Error>> {
        let (mut rules, mut listen, mut upstream) = (None, "127.0.0.1:0".to_string(), None);
        let mut watch = Duration::from_millis(1000);
        let (mut redis, mut idempotency_header) = (None, None);
        while let Some(argument) = arguments.next()? {
            match argument {
                Arg::Long("rules") => rules = Some(PathBuf::from(arguments.value()?)),
                Arg::Long("listen") => listen = arguments.value()?.string()?,
                Arg::Long("upstream") => upstream = Some(authority(&arguments.value()?.string()?)?),
                Arg::Long("watch-ms") => watch = Duration::from_millis(arguments.value()?.parse::<u32>()?.into()),
                Arg::Long("redis") => redis = Some(arguments.value()?.string()?),
                Arg::Long("idempotency-header") => idempotency_header = Some(arguments.value()?.parse()?),
                Arg::Long("help") | Arg::Short('h') => return Ok(None),
                other => return Err(format!("{}: see gateway --help", other.unexpected()).into()),
            }
        }
        let rules = rules.ok_or("see gateway --help")?;
        Ok(Some(Self { rules, listen, upstream, watch, redis, idempotency_header }))
    }
}

fn authority(text: &str) -> Result<Authority, &'static str> {
    let uri = text.parse::<Uri>().ok().filter(|uri| uri.scheme_str() == Some("http"));
    let uri = uri.filter(|uri| uri.port_u16().is_some() && uri.path() == "/" && !text.ends_with('/'));
    uri.and_then(|uri| uri.authority().cloned()).ok_or("--upstream is http://HOST:PORT")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options() {
        let parsed = |arguments: &[&str]| Options::parse(Parser::from_args(arguments));
        let given = parsed(&["--rules", "r", "--upstream", "http://127.0.0.1:80"]).unwrap().unwrap();
        assert_eq!(given.upstream.unwrap(), "127.0.0.1:80");
        assert_eq!((given.listen.as_str(), given.watch), ("127.0.0.1:0", Duration::from_secs(1)));
        assert!(parsed(&["--help"]).unwrap().is_none());
        for upstream in ["127.0.0.1:80", "https://x:1", "http://x", "http://x:1/path", "http://x:1/", "http://x:a"] {
            assert!(parsed(&["--rules", "r", "--upstream", upstream]).is_err(), "{upstream}");
        }
        for wrong in [&[][..], &["--rules"], &["--rules", "r", "x"], &["--rules", "r", "--watch-ms", "-1"]] {
            assert!(parsed(wrong).is_err(), "{wrong:?}");
        }
    }
}
