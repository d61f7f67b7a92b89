import Foundation
import NightshiftAPI

/// The transfer that results from the URIs and the options of `aria2.addUri`.
struct TransferPlan: Sendable {
    var request: TaskRequest
    var note: DownloadNote

    /// Derives the transfer.
    ///
    /// - Parameters:
    ///   - options: the options of the download, in aria2's form.
    ///   - standards: the options that the user changed for all downloads.
    ///   - directory: the folder of downloads without `dir`.
    /// - Throws: an error if no URI can be downloaded, or if the value of an option cannot be used.
    init(
        uris: [String], gid: GID, options: [String: OptionValue], standards: [String: OptionValue], directory: String
    ) throws(RPCError) {
        let options = DownloadOptions(options, over: standards)
        let urls = try Self.urls(uris)
        let folder = try options.folder(directory)
        note = DownloadNote(gid: gid, uris: urls.map(\.string), options: options.stored)
        note.options["dir"] = .text(folder)
        note.omitted = options.omitted.isEmpty ? nil : options.omitted
        guard !options.leavesFolder else {
            throw RPCError("The value of --out must not contain '..', because the file would leave its folder.")
        }
        request = TaskRequest(kind: .download)
        request.url = uris.first { (try? TransferURL(parsing: $0)) == urls[0] }
        if urls.count > 1 { request.mirrors = Array(urls.dropFirst().map(\.string)) }
        request.destination = options.destination(of: urls[0], folder: folder)
        request.headers = options.headers(for: urls[0])
        request.credential = options.credential
        request.checksum = try options.checksum()
        request.connections = options.connections(hosts: Set(urls.map(\.origin)).count)
        request.rateLimit = options.rateLimit
        request.idleTimeout = options.number("timeout").map { Double($0) }
        request.proxy = options.proxy(isSecure: urls[0].isSecure)
        request.tls = options.tls
        request.suspended = options.flag("pause") ? true : nil
        request.failsOnHTTPError = true
        request.retryPolicy = .transientResponses
        request.clientData = note.text
        // The service may still be adding the download for an earlier call, whose bridge was killed.
        request.ifSame = .join
    }

    /// Returns the different http and https URLs among `uris`. The service accepts one URL and ``Limits/mirrors`` others.
    private static func urls(_ uris: [String]) throws(RPCError) -> [TransferURL] {
        var urls: [TransferURL] = []
        for uri in uris {
            guard let url = try? TransferURL(parsing: uri), !urls.contains(url) else { continue }
            urls.append(url)
            if urls.count == Limits.mirrors + 1 { break }
        }
        guard urls.isEmpty else { return urls }
        let scheme = uris.lazy.compactMap { $0.split(separator: ":").first }.first
        if let scheme, ["ftp", "sftp", "magnet"].contains(scheme) {
            throw RPCError("Nightshift downloads http and https URLs, not \(scheme).")
        }
        throw RPCError("No URI to download.")
    }
}

/// The options of a download, completed with those for all downloads.
struct DownloadOptions: Sendable {
    private let given: [String: OptionValue]
    private let all: [String: OptionValue]

    init(_ given: [String: OptionValue], over standards: [String: OptionValue]) {
        self.given = given
        all = standards.merging(given) { $1 }
    }

    /// The options that may be stored with the transfer and shown again.
    var stored: [String: OptionValue] {
        given.filter { name, _ in !Self.secret.contains(name) && name != "gid" && name != "pause" }
            .mapValues { value in
                guard case .list(let lines) = value else { return value }
                return .list(lines.filter { HeaderField(line: $0)?.isHarmless ?? false })
            }
            .filter { $0.value != .list([]) }
    }

    /// The names of options with values that are not stored.
    var omitted: Set<String> {
        Set(given.keys.filter { $0 != "gid" && $0 != "pause" && stored[$0] != given[$0] })
    }

    /// Options that become one value of a transfer. Who changes one of them has to give the secret ones again, because
    /// they are not stored.
    static let groups: [Group] = [
        Group(names: ["header", "referer", "user-agent", "http-no-cache"], secret: "header"),
        Group(names: ["http-user", "http-passwd"], secret: "http-passwd"),
        Group(names: ["all-proxy", "all-proxy-user", "all-proxy-passwd"], secret: "all-proxy-passwd"),
        Group(names: ["http-proxy", "http-proxy-user", "http-proxy-passwd"], secret: "http-proxy-passwd"),
        Group(names: ["https-proxy", "https-proxy-user", "https-proxy-passwd"], secret: "https-proxy-passwd"),
    ]

    struct Group: Sendable {
        var names: Set<String>
        /// The name of the option that can be secret.
        var secret: String
    }

    /// The options that contain passwords.
    static let secret: Set<String> = [
        "http-passwd", "all-proxy-passwd", "http-proxy-passwd", "https-proxy-passwd", "ftp-passwd", "ftp-proxy-passwd",
        "rpc-secret", "rpc-passwd",
    ]

    /// The text of an option; nil if it is not set, or empty.
    func text(_ name: String) -> String? {
        guard case .text(let text)? = all[name], !text.isEmpty else { return nil }
        return text
    }

    func flag(_ name: String) -> Bool { text(name) == "true" }

    func number(_ name: String) -> Int64? { text(name).flatMap { Int64($0) } }

    var rateLimit: Int64? { number("max-download-limit").flatMap { $0 > 0 ? $0 : nil } }

    var credential: Credential? {
        text("http-user").map { Credential(user: $0, password: text("http-passwd") ?? "") }
    }

    /// Returns the number of connections; nil if the client leaves the choice to the service.
    func connections(hosts: Int) -> Int? {
        let split = number("split")
        let perHost = number("max-connection-per-server")
        guard split != nil || perHost != nil else { return nil }
        let number = min(split ?? 5, (perHost ?? 16) * Int64(hosts))
        return min(Int(clamping: number), Limits.connectionsPerTask)
    }

    /// Returns the folder of the download without a slash at its end.
    ///
    /// - Parameter standard: the folder of downloads without `dir`.
    func folder(_ standard: String) throws(RPCError) -> String {
        var folder = text("dir") ?? standard
        guard folder.hasPrefix("/") else { throw RPCError("The folder '\(folder)' of --dir is not an absolute path.") }
        while folder.count > 1, folder.hasSuffix("/") { folder.removeLast() }
        return folder
    }

    /// Whether the name would lead out of the folder.
    var leavesFolder: Bool { text("out")?.split(separator: "/").contains("..") ?? false }

    /// Returns the destination: the folder, the name, and the behaviour if the name is taken.
    func destination(of url: TransferURL, folder: String) -> Destination {
        var name = text("out").map { $0.split(separator: "/", omittingEmptySubsequences: true).map(String.init) } ?? []
        let overwrites = flag("allow-overwrite")
        let isExact = text("auto-file-renaming") == "false"
        if name.isEmpty, isExact || overwrites { name = [url.fileName ?? "index.html"] }
        var destination = Destination(directory: ([folder] + name.dropLast()).joined(separator: "/"))
        destination.filename = name.last
        if overwrites { destination.overwrite = true }
        if isExact, !overwrites { destination.ifTaken = .refuse }
        return destination
    }

    func headers(for url: TransferURL) -> [HeaderField]? {
        var headers: [HeaderField] = []
        for line in all["header"]?.texts.flatMap({ $0.split(separator: "\n") }) ?? [] {
            guard let field = HeaderField(line: String(line)) else { continue }
            if !field.isReserved { headers.append(field) }
        }
        if let referer = text("referer") {
            headers.append(HeaderField(name: "Referer", value: referer == "*" ? url.string : referer))
        }
        if let agent = text("user-agent") { headers.append(HeaderField(name: "User-Agent", value: agent)) }
        if flag("http-no-cache") {
            headers.append(HeaderField(name: "Cache-Control", value: "no-cache"))
            headers.append(HeaderField(name: "Pragma", value: "no-cache"))
        }
        return headers.isEmpty ? nil : headers
    }

    func checksum() throws(RPCError) -> Checksum? {
        guard let text = text("checksum") else { return nil }
        let parts = text.split(separator: "=", maxSplits: 1).map { $0.lowercased() }
        guard parts.count == 2, let algorithm = Checksum.Algorithm(rawValue: parts[0]),
            parts[1].utf8.count == algorithm.hexLength
        else { throw RPCError("We encountered a problem while processing the option '--checksum'.") }
        return Checksum(algorithm: algorithm, hex: parts[1])
    }

    /// Returns the URL of the proxy with user name and password; nil if no proxy is set.
    func proxy(isSecure: Bool) -> String? {
        let own = isSecure ? "https-proxy" : "http-proxy"
        guard let name = [own, "all-proxy"].first(where: { text($0) != nil }), let url = text(name) else { return nil }
        let address = ProxyAddress(url.contains("://") ? url : "http://" + url)
        let user = text(name + "-user").map { user in
            [user, text(name + "-passwd") ?? ""].map {
                $0.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            }
            .joined(separator: ":")
        }
        guard let userinfo = user ?? address.userinfo.map(String.init) else { return address.url }
        return address.url(userinfo: userinfo)
    }

    var tls: TLSSettings? {
        let settings = TLSSettings(
            certificateAuthority: text("ca-certificate"), clientCertificate: text("certificate"),
            clientKey: text("private-key"))
        return settings == TLSSettings() ? nil : settings
    }
}

extension HeaderField {
    /// Parses a line such as `Accept: text/plain`. Returns nil if the line has no name.
    fileprivate init?(line: String) {
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let name = parts[0].filter { $0 != " " }
        guard !name.isEmpty else { return nil }
        self.init(name: name, value: String(parts[1].drop { $0 == " " }))
    }
}

extension TransferURL {
    /// The last part of the path, decoded; nil if the path ends with `/`.
    var fileName: String? {
        let encoded = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        let name = String(decoding: PercentEncoding.decode(encoded.utf8), as: UTF8.self)
        return name.isEmpty || name.contains("/") || name == "." || name == ".." ? nil : name
    }
}
