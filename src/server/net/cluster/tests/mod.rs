//! The rules of addresses, and the scripts in a real Redis.

use std::net::SocketAddr;

use super::settings::{ClusterAddress, ClusterConfig, PublicUrl};

#[cfg(feature = "cluster")]
mod report_scripts;
#[cfg(feature = "cluster")]
mod scripts;
#[cfg(feature = "cluster")]
mod setting_scripts;

#[test]
fn an_advertised_address_has_a_host_and_the_bound_port_by_default() {
    for good in ["http://10.0.0.5", "http://10.0.0.5:80", "http://[2001:db8::1]:80/", "http://a.example"] {
        assert!(good.parse::<ClusterAddress>().is_ok(), "{good}");
    }
    for bad in ["10.0.0.5:80", "https://a.example", "http://", "http://a/b", "http://a:x", "http://a b"] {
        assert!(bad.parse::<ClusterAddress>().is_err(), "{bad}");
    }
    let bound: SocketAddr = "0.0.0.0:3000".parse().expect("an address");
    let config = |address: Option<&str>| ClusterConfig {
        url: "redis://127.0.0.1:1".to_owned(),
        address: address.map(|address| address.parse().expect("an address")),
        public: None,
    };
    let address = |config: &ClusterConfig, bound| config.advertised(bound);
    assert_eq!(address(&config(Some("http://[2001:db8::1]")), bound), Ok("[2001:db8::1]:3000".to_owned()));
    assert_eq!(address(&config(Some("http://a:80")), bound), Ok("a:80".to_owned()));
    assert!(address(&config(None), bound).is_err());
    let specific: SocketAddr = "127.0.0.1:3000".parse().expect("an address");
    assert_eq!(address(&config(None), specific), Ok("127.0.0.1:3000".to_owned()));
}

#[test]
fn a_public_url_has_a_scheme_and_with_http_the_bound_port_by_default() {
    let bound: SocketAddr = "0.0.0.0:3000".parse().expect("an address");
    for (text, url) in [
        ("https://a.example.org", Some("https://a.example.org")),
        ("https://a.example.org:8443/", Some("https://a.example.org:8443")),
        ("http://10.0.0.5", Some("http://10.0.0.5:3000")),
        ("http://10.0.0.5:80", Some("http://10.0.0.5:80")),
        ("wss://a", None),
        ("https://a/b", None),
        ("a", None),
    ] {
        let found = text.parse::<PublicUrl>().ok().map(|public| public.url(bound));
        assert_eq!(found.as_deref(), url, "{text}");
    }
}
