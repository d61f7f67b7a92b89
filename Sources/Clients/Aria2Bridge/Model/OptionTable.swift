/// The options of aria2 1.36 that clients can see or set.
///
/// A row has the name, the scope, the values, the default of aria2, the support, and a remark for `docs/aria2.md`. The
/// values are those of `aria2c --help=#all`. An option that is not in the table is ignored, as aria2 ignores unknown
/// options.
extension Option {
    static let all: [String: Option] = Dictionary(
        uniqueKeysWithValues: table.split(separator: "\n").map { line in
            guard let option = Option(row: line) else { preconditionFailure("The table has a wrong row: \(line)") }
            return (option.name, option)
        })

    /// The rows, sorted by name. The default of a row can be empty.
    private static let table = """
        all-proxy | input | text |  | works | The proxy for all URLs.
        all-proxy-passwd | input | text |  | works | The password for the proxy. It is not shown again.
        all-proxy-user | input | text |  | works | The user name for the proxy.
        allow-overwrite | task | bool | false | works | Replaces an existing file.
        allow-piece-length-change | task | bool | false | none
        always-resume | task | bool | true | differs | A server that cannot resume makes the download start again.
        async-dns | task | bool | true | none
        auto-file-renaming | task | bool | true | differs | `true` finds a free name such as `file (1)`, aria2 writes `file.1`. `false` fails the download if the name is taken.
        auto-save-interval | global | number 0-600 | 60 | differs | Every change is on disk before the call is answered.
        bt-detach-seed-only | global | bool | false | none
        bt-enable-hook-after-hash-check | task | bool | true | none
        bt-enable-lpd | task | bool | false | none
        bt-force-encryption | task | bool | false | none
        bt-hash-check-seed | task | bool | true | none
        bt-load-saved-metadata | task | bool | false | none
        bt-lpd-interface | input | text |  | none
        bt-max-open-files | global | number 1-* | 100 | none
        bt-max-peers | task | number 0-* | 55 | none
        bt-metadata-only | task | bool | false | none
        bt-min-crypto-level | task | one of plain arc4 | plain | none
        bt-remove-unselected-file | task | bool | false | none
        bt-request-peer-speed-limit | task | number 0-* | 51200 | none
        bt-require-crypto | task | bool | false | none
        bt-save-metadata | task | bool | false | none
        bt-seed-unverified | task | bool | false | none
        bt-stop-timeout | task | number 0-* | 0 | none
        bt-tracker-connect-timeout | task | number 1-600 | 60 | none
        bt-tracker-interval | task | number 0-* | 0 | none
        bt-tracker-timeout | task | number 1-600 | 60 | none
        ca-certificate | global | text |  | works | A PEM file with the certificates to trust.
        certificate | input | text |  | works | A PEM file with the certificate of the client.
        check-certificate | global | bool | true | refused | `false` is refused: certificates are always checked. Give the certificate with `ca-certificate`.
        check-integrity | task | bool | false | differs | A checksum is always checked.
        checksum | input | text |  | works | Digest of the whole file: md5, sha-1, sha-256, sha-384 or sha-512.
        conditional-get | task | bool | false | works | Downloads only if the file at the server is newer. Needs `allow-overwrite=true`, as in aria2.
        connect-timeout | task | number 1-600 | 60 | none
        console-log-level | global | one of debug info notice warn error | notice | none
        content-disposition-default-utf8 | task | bool | false | none
        continue | task | bool | false | differs | Always on: Nightshift continues its own partial files, and never continues other files.
        daemon | global | bool | false | none
        deferred-input | global | bool | false | none
        dht-listen-port | global | text | 6881-6999 | none
        dht-message-timeout | global | number 1-60 | 10 | none
        dir | task | text |  | works | The folder of the file.
        disable-ipv6 | global | bool | false | none
        disk-cache | global | number 0-* | 16777216 | none
        download-result | global | one of default full hide | default | none
        dry-run | task | bool | false | refused | `true` is refused.
        dscp | global | number 0-* | 0 | none
        enable-color | global | bool | true | none
        enable-dht | global | bool | true | none
        enable-dht6 | global | bool | false | none
        enable-http-keep-alive | task | bool | true | none
        enable-http-pipelining | task | bool | false | none
        enable-mmap | task | bool | false | none
        enable-peer-exchange | task | bool | true | none
        enable-rpc | global | bool | true | none
        event-poll | global | one of epoll poll select | epoll | none
        file-allocation | task | one of none prealloc trunc falloc | prealloc | differs | Space is always reserved before the download starts.
        follow-metalink | task | one of true mem false | true | none
        follow-torrent | task | one of true mem false | true | none
        force-save | task | bool | false | none
        ftp-pasv | task | bool | true | none
        ftp-reuse-connection | task | bool | true | none
        ftp-type | task | one of binary ascii | binary | none
        gid | input | text |  | works | The GID of the download.
        hash-check-only | task | bool | false | refused | `true` is refused.
        header | input | text |  | works | Request header fields. Values that may be secret are not shown again.
        help | global | text | #basic | none
        http-accept-gzip | task | bool | false | none
        http-auth-challenge | task | bool | false | none
        http-no-cache | task | bool | false | works | Sends Cache-Control: no-cache and Pragma: no-cache.
        http-passwd | input | text |  | works | The password. It is not shown again.
        http-proxy | input | text |  | works | The proxy for http URLs.
        http-proxy-passwd | input | text |  | works | The password for the proxy. It is not shown again.
        http-proxy-user | input | text |  | works | The user name for the proxy.
        http-user | input | text |  | works | The user name for Basic or Digest authentication.
        https-proxy | input | text |  | works | The proxy for https URLs.
        https-proxy-passwd | input | text |  | works | The password for the proxy. It is not shown again.
        https-proxy-user | input | text |  | works | The user name for the proxy.
        human-readable | global | bool | true | none
        keep-unfinished-download-result | global | bool | true | differs | Ended downloads stay until you remove them.
        listen-port | global | text | 6881-6999 | none
        load-cookies | input | text |  | none
        log-level | global | one of debug info notice warn error | debug | none
        lowest-speed-limit | task | number 0-* | 0 | none
        max-concurrent-downloads | global | number 1-* | 5 | differs | The maximum number of running transfers of the service, also those of other clients.
        max-connection-per-server | task | number 1-16 | 1 | differs | Together with `split`: the smaller number of connections is used.
        max-download-limit | task | number 0-* | 0 | works | The rate limit of the download. It also changes while the download runs.
        max-download-result | global | number 0-* | 1000 | differs | Ended downloads stay until you remove them.
        max-file-not-found | task | number 0-* | 0 | differs | A file that does not exist fails at once.
        max-mmap-limit | task | number 0-* | 9223372036854775807 | none
        max-overall-download-limit | global | number 0-* | 0 | differs | The rate limit of all transfers of the service, also those of other clients.
        max-overall-upload-limit | global | number 0-* | 0 | none
        max-resume-failure-tries | task | number 0-* | 0 | none
        max-tries | task | number 0-* | 5 | differs | Nightshift tries again until the file has arrived, for 7 days at most.
        max-upload-limit | task | number 0-* | 0 | none
        metalink-enable-unique-protocol | task | bool | true | none
        metalink-preferred-protocol | task | one of http https ftp none | none | none
        min-split-size | task | number 1048576-1073741824 | 20971520 | none
        min-tls-version | global | one of TLSv1.1 TLSv1.2 TLSv1.3 | TLSv1.2 | differs | At least TLS 1.2.
        no-conf | global | bool | true | none
        no-file-allocation-limit | task | number 0-* | 5242880 | none
        no-netrc | task | bool | false | none
        no-proxy | input | text |  | none
        optimize-concurrent-downloads | global | text | false | none
        out | input | text |  | works | The name of the file. It may have folders, as in aria2.
        parameterized-uri | task | bool | false | refused | `true` is refused: give each URL.
        pause | input | bool |  | works | Adds the download paused.
        pause-metadata | task | bool | false | none
        peer-agent | global | text |  | none
        peer-id-prefix | global | text | A2-1-36-0- | none
        piece-length | task | number 1048576-1073741824 | 1048576 | none
        private-key | input | text |  | works | A PEM file with its key.
        proxy-method | task | one of get tunnel | get | none
        quiet | global | bool | true | none
        realtime-chunk-checksum | task | bool | true | differs | A checksum is always checked.
        referer | input | text |  | works | The Referer field; `*` means the URL itself.
        remote-time | task | bool | false | none
        remove-control-file | task | bool | false | none
        retry-wait | task | number 0-600 | 0 | differs | Nightshift chooses the delay: it grows up to 5 minutes, and Retry-After is respected.
        reuse-uri | task | bool | true | none
        rlimit-nofile | global | number 1-* | 1024 | none
        rpc-allow-origin-all | global | bool | false | differs | Set for one origin with the option `--allow-origin` of the bridge.
        rpc-listen-all | global | bool | false | none
        rpc-listen-port | global | number 1024-65535 | 6800 | differs | Set with the option `--port` of the bridge.
        rpc-max-request-size | global | number 0-* | 2097152 | none
        rpc-save-upload-metadata | task | bool | true | none
        rpc-secure | global | bool | false | none
        save-not-found | task | bool | true | none
        save-session-interval | global | number 0-* | 0 | differs | Every change is on disk before the call is answered.
        seed-ratio | task | text | 1.0 | none
        server-stat-timeout | global | number 0-2147483647 | 86400 | none
        show-console-readout | global | bool | true | none
        show-files | global | bool | false | none
        socket-recv-buffer-size | global | number 0-16777216 | 0 | none
        split | task | number 1-* | 5 | differs | The number of connections, at most 32. Without `split` and `max-connection-per-server`, Nightshift measures how many help.
        stderr | global | bool | false | none
        stop | global | number 0-2147483647 | 0 | none
        stream-piece-selector | task | one of default inorder random geom | default | none
        summary-interval | global | number 0-2147483647 | 60 | none
        timeout | task | number 1-600 | 60 | works | The time without a byte after which the request is sent again.
        truncate-console-readout | global | bool | true | none
        uri-selector | task | one of inorder feedback adaptive | feedback | none
        use-head | task | bool | false | none
        user-agent | task | text |  | works | The User-Agent field.
        """
}
