import NightshiftAPI
import Testing

@testable import Aria2Bridge

/// B7: The transfers that calls of `aria2.addUri` become.
@Suite struct TransferPlanTests {
    private static func plan(
        _ uris: [String] = ["http://example.org/a%20b.zip"], _ options: [String: OptionValue] = [:],
        standards: [String: OptionValue] = [:]
    ) throws -> TransferPlan {
        try TransferPlan(
            uris: uris, gid: GID(), options: options, standards: standards, directory: "/home/ada/Downloads")
    }

    @Test func `A download without options goes to the folder for downloads, and the service chooses the connections`()
        throws
    {
        let request = try Self.plan().request
        #expect(request.destination == Destination(directory: "/home/ada/Downloads"))
        #expect(request.connections == nil && request.suspended == nil && request.headers == nil)
        #expect(request.failsOnHTTPError == true)
    }

    @Test func `Other URLs of the same file are mirrors. URIs that cannot be downloaded are left out`() throws {
        let request = try Self.plan(["nonsense", "http://a/x", "http://a/x", "ftp://b/x", "https://c/x"]).request
        #expect(request.url == "http://a/x")
        #expect(request.mirrors == ["https://c/x"])
    }

    @Test func `The service gets at most as many mirrors as it accepts`() throws {
        let request = try Self.plan((0..<10_000).map { "http://host\($0)/x" }).request
        #expect(request.mirrors?.count == Limits.mirrors)
    }

    @Test func `Without a URL that can be downloaded, the error says why`() {
        #expect(throws: RPCError("No URI to download.")) { try Self.plan(["nonsense"]) }
        #expect(throws: RPCError("Nightshift downloads http and https URLs, not magnet.")) {
            try Self.plan(["magnet:?xt=urn:btih:0"])
        }
    }

    @Test func `Passwords and secret header fields are not stored with the transfer`() throws {
        let plan = try Self.plan(
            ["http://ada:word@example.org/f"],
            [
                "http-user": .text("ada"), "http-passwd": .text("hidden"), "all-proxy-passwd": .text("hidden"),
                "header": .list(["Accept: text/plain", "Cookie: hidden", "Authorization: hidden", "X-Key: hidden"]),
            ])
        let text = plan.note.text
        #expect(!text.contains("hidden") && !text.contains("word"), "\(text)")
        #expect(plan.note.options["header"] == .list(["Accept: text/plain"]))
        #expect(plan.request.headers?.first("Cookie") == "hidden")
        #expect(plan.request.credential == Credential(user: "ada", password: "hidden"))
    }

    @Test func `The folders of out are below dir`() throws {
        let plan = try Self.plan(["http://a/x"], ["dir": .text("/data/"), "out": .text("sub/deep/name")])
        #expect(plan.request.destination == Destination(directory: "/data/sub/deep", filename: "name"))
        #expect(plan.note.options["dir"] == .text("/data"))
    }

    @Test func `With auto-file-renaming=false, the name is that of the URL, and a taken name is refused`() throws {
        let destination = try Self.plan(options: ["auto-file-renaming": .text("false")]).request.destination
        #expect(destination?.filename == "a b.zip" && destination?.ifTaken == .refuse)
    }

    private static func plan(options: [String: OptionValue]) throws -> TransferPlan {
        try plan(["http://example.org/a%20b.zip"], options)
    }

    @Test func `A change that would lose a secret asks for the secret`() throws {
        let plan = try Self.plan(options: [
            "header": .list(["Accept: text/plain", "Cookie: hidden"]), "http-user": .text("ada"),
            "http-passwd": .text("hidden"),
        ])
        let note = try #require(DownloadNote(plan.note.text))
        #expect(note.omitted == ["header", "http-passwd"])
        #expect(throws: RPCError.self) { try note.requireSecrets(for: ["user-agent"]) }
        #expect(throws: RPCError.self) { try note.requireSecrets(for: ["http-user"]) }
        try note.requireSecrets(for: ["user-agent", "header"])
        try note.requireSecrets(for: ["http-user", "http-passwd"])
        try note.requireSecrets(for: ["dir", "split", "all-proxy"])
        #expect(try Self.plan(options: ["header": .list(["Accept: text/plain"])]).note.omitted == nil)
    }

    @Test func `A name that leaves its folder is refused`() {
        #expect(throws: RPCError.self) { try Self.plan(options: ["out": .text("a/../../b")]) }
    }

    @Test func `A relative folder is refused`() {
        #expect(throws: RPCError.self) { try Self.plan(options: ["dir": .text("downloads")]) }
    }

    @Test(
        arguments: [
            ("8", nil, 8), ("8", "2", 2), (nil, "4", 4), (nil, "16", 5), ("100", "16", 16), ("99999999999", nil, 16),
        ] as [(String?, String?, Int)])
    func `split and max-connection-per-server limit the connections`(split: String?, perServer: String?, expected: Int)
        throws
    {
        var options: [String: OptionValue] = [:]
        options["split"] = split.map { .text($0) }
        options["max-connection-per-server"] = perServer.map { .text($0) }
        #expect(try Self.plan(options: options).request.connections == expected)
    }

    @Test func `The proxy for the scheme comes before the one for all, and its password is encoded`() throws {
        let options: [String: OptionValue] = [
            "all-proxy": .text("all:1"), "http-proxy": .text("own:2"), "http-proxy-user": .text("a@b"),
            "http-proxy-passwd": .text("c/d"),
        ]
        #expect(try Self.plan(["http://x/"], options).request.proxy == "http://a%40b:c%2Fd@own:2")
        #expect(try Self.plan(["https://x/"], options).request.proxy == "http://all:1")
    }

    @Test func `Options for all downloads apply unless the download has its own`() throws {
        let standards: [String: OptionValue] = ["dir": .text("/all"), "max-download-limit": .text("1024")]
        let plan = try Self.plan(["http://x/"], ["dir": .text("/own")], standards: standards)
        #expect(plan.request.destination?.directory == "/own" && plan.request.rateLimit == 1_024)
        #expect(plan.note.options["max-download-limit"] == nil)
    }

    @Test(arguments: ["sha-1", "sha-1=00", "crc=00", "="])
    func `A wrong checksum is refused`(text: String) {
        #expect(throws: RPCError.self) { try Self.plan(options: ["checksum": .text(text)]) }
    }
}
