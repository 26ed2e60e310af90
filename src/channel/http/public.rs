//! Finding hosts for requests whose addresses strangers may have chosen.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;
use url::{Host, Url};

/// Finds hosts on the public net only: a name must not lead to this machine or to its neighbours.
///
/// The addresses that are checked are those that are connected to, so that a name can't change in between.
#[derive(Debug, Default)]
pub(super) struct PublicResolver(DefaultResolver);

impl Resolver for PublicResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.0.resolve(uri, config, timeout)?;
        check(found, "")
    }
}

/// Hosts that a stranger named to a channel whose other hosts stand in the configuration.
#[derive(Clone, Debug, Default)]
pub(super) struct Strangers(Arc<Mutex<BTreeSet<String>>>);

impl Strangers {
    /// From now on this URL's host is reached on the public net only.
    pub(super) fn add(&self, url: &Url) {
        let mut hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.extend(url.host_str().map(str::to_owned));
    }

    fn has(&self, uri: &Uri) -> bool {
        let hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        uri.host().is_some_and(|host| hosts.contains(host))
    }
}

/// Finds hosts as another does, and strangers' hosts on the public net only. What goes by way of a proxy is found by the
/// proxy, which is the user's own.
#[derive(Debug)]
pub(super) struct GuardedResolver<R> {
    inner: R,
    strangers: Strangers,
}

impl<R> GuardedResolver<R> {
    /// Makes a finder that knows the strangers, also those to come.
    pub(super) fn new(inner: R, strangers: Strangers) -> Self {
        Self { inner, strangers }
    }
}

impl<R: Resolver> Resolver for GuardedResolver<R> {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.inner.resolve(uri, config, timeout)?;
        if self.strangers.has(uri) {
            return check(found, ", and the configuration does not name it");
        }
        Ok(found)
    }
}

/// Whether a URL's host may lie on the public net, as far as the URL tells.
pub(crate) fn may_be_public(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name.trim_end_matches('.').contains('.'),
        Some(Host::Ipv4(address)) => is_public(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => is_public(IpAddr::V6(address)),
        None => false,
    }
}

fn check(found: ResolvedSocketAddrs, but: &str) -> Result<ResolvedSocketAddrs, ureq::Error> {
    match found.iter().find(|address| !is_public(address.ip())) {
        None => Ok(found),
        Some(address) => Err(ureq::Error::Io(std::io::Error::new(
            std::io::ErrorKind::PermissionDenied,
            format!("its address, {}, is not public{but}", address.ip()),
        ))),
    }
}

/// Whether an address is one of the public net.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => {
            // All that is given out to anybody lies in 2000::/3; 2001:db8::/32 is for documentation.
            let [first, second, ..] = address.segments();
            let is_given_out = first & 0xe000 == 0x2000 && (first, second) != (0x2001, 0xdb8);
            embedded(address).map_or(is_given_out, is_public_v4)
        }
    }
}

/// IPv4 in IPv6: mapped, translated (`64:ff9b::/96`), 6to4.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let of = |high: u16, low: u16| {
        let ([one, two], [three, four]) = (high.to_be_bytes(), low.to_be_bytes());
        Some(Ipv4Addr::new(one, two, three, four))
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff | 0, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            of(high, low)
        }
        [0x2002, high, low, ..] => of(high, low),
        _ => None,
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let is_shared = first == 100 && second & 0xc0 == 64;
    let is_benchmark = first == 198 && second & 0xfe == 18;
    let is_protocol = (first, second, third) == (192, 0, 0);
    !(first == 0
        || first >= 224
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_documentation()
        || is_shared
        || is_benchmark
        || is_protocol)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_public() {
        let check = |text: &str| is_public(text.parse().unwrap());
        for public in [
            "8.8.8.8",
            "100.63.0.1",
            "172.32.0.1",
            "192.169.0.1",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
        ] {
            assert!(check(public), "{public}");
        }
        for private in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.8.9.1",
            "169.254.169.254",
            "172.16.0.1",
            "192.0.0.1",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "ff02::1",
        ] {
            assert!(!check(private), "{private}");
        }
    }
}
