//! Stands in for a server that the exporter asks. Holds no test.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    thread,
};

/// Answers every request with `status` and `body`; returns its URL.
pub(crate) fn fake_server(status: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/metrics", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines
                .next()
                .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
            {}
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n");
            // The exporter may have given up.
            let _ = write!(stream, "{head}Connection: close\r\n\r\n{body}");
        }
    });
    url
}
