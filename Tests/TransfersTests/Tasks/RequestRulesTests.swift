import Foundation
import NightshiftAPI
import Store
import TestSupport
import Testing
import Transfers

/// Tests of every rule for requests, with the field that the problem names.
@Suite struct RequestRulesTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var pointer: String
        var request: TaskRequest

        init(_ description: String, _ pointer: String, _ change: (inout TaskRequest) -> Void) {
            testDescription = description
            self.pointer = "/tasks/3" + pointer
            request = TaskRequest(url: "https://example.org/f")
            change(&request)
        }
    }

    private static func field(_ name: String, _ value: String = "v") -> HeaderField {
        HeaderField(name: name, value: value)
    }
    private static func form(
        _ description: String, _ pointer: String, _ fields: [FormField],
        _ change: (inout TaskRequest) -> Void = { _ in }
    ) -> Row {
        Row(description, pointer) {
            $0.kind = .upload
            $0.form = fields
            change(&$0)
        }
    }

    private static func long(_ count: Int) -> String { String(repeating: "x", count: count) }

    static let refused = [
        Row("no URL", "/url") { $0.url = nil },
        Row("an empty URL", "/url") { $0.url = "" },
        Row("another scheme", "/url") { $0.url = "ftp://example.org/" },
        Row("a URL that is too long", "/url") { $0.url = "https://example.org/" + long(Limits.urlLength) },
        Row("too many fields", "/headers") { $0.headers = (0...Limits.headerFields).map { field("X-\($0)") } },
        Row("fields that are too large", "/headers") { $0.headers = [field("X", long(Limits.headerBytes))] },
        Row("a name with a space", "/headers/1/name") { $0.headers = [field("A"), field("B C")] },
        Row("an empty name", "/headers/0/name") { $0.headers = [field("")] },
        Row("a line break in a value", "/headers/0/value") { $0.headers = [field("A", "b\r\nC: d")] },
        Row("a priority above 1", "/priority") { $0.priority = 1.01 },
        Row("a priority that is no number", "/priority") { $0.priority = .nan },
        Row("a rate limit of 0", "/rateLimit") { $0.rateLimit = 0 },
        Row("no idle time", "/idleTimeout") { $0.idleTimeout = 0 },
        Row("an idle time that is no number", "/idleTimeout") { $0.idleTimeout = .nan },
        Row("an endless timeout", "/resourceTimeout") { $0.resourceTimeout = .infinity },
        Row("a negative timeout", "/resourceTimeout") { $0.resourceTimeout = -1 },
        Row("bytes to send below -1", "/countOfBytesClientExpectsToSend") { $0.countOfBytesClientExpectsToSend = -2 },
        Row("bytes to receive below -1", "/countOfBytesClientExpectsToReceive") {
            $0.countOfBytesClientExpectsToReceive = -2
        },
        Row("a battery level above 100", "/minimumBattery") { $0.minimumBattery = 100.4 },
        Row("a battery level below 0", "/minimumBattery") { $0.minimumBattery = -0.1 },
        Row("a battery level that is no number", "/minimumBattery") { $0.minimumBattery = .nan },
        Row("a description that is too long", "/description") { $0.description = long(Limits.descriptionLength + 1) },
        Row("client data that are too long", "/clientData") { $0.clientData = long(Limits.clientDataLength + 1) },
        Row("a proxy that is no URL", "/proxy") { $0.proxy = "proxy:3128" },
        Row("a proxy with a bare @ in its password", "/proxy") { $0.proxy = "http://ada:p@ss@proxy:3128" },
        Row("a proxy with a bare slash in its password", "/proxy") { $0.proxy = "http://ada:p/ss@proxy:3128" },
        Row("a proxy without a host", "/proxy") { $0.proxy = "http://:3128" },
        Row("a proxy with a port that is too large", "/proxy") { $0.proxy = "http://proxy:70000" },
        Row("a proxy with a port that is no number", "/proxy") { $0.proxy = "http://proxy:http" },
        Row("a method that is none", "/method") { $0.method = "GE T" },
        Row("a tunnel", "/method") { $0.method = "CONNECT" },
        Row("a trace", "/method") { $0.method = "trace" },
        Row("a body of the default method", "/body") { $0.body = Data([1]) },
        Row("a body of HEAD", "/body") {
            $0.method = "HEAD"
            $0.body = Data([1])
        },
        Row("a body that is too large", "/body") {
            $0.method = "POST"
            $0.body = Data(count: Limits.downloadBody + 1)
        },
        Row("mirrors of what a body is sent for", "/mirrors") {
            $0.method = "POST"
            $0.body = Data([1])
            $0.mirrors = ["https://mirror.example/f"]
        },
        Row("mirrors of another method", "/mirrors") {
            $0.method = "DELETE"
            $0.mirrors = ["https://mirror.example/f"]
        },
        Row("a body of an upload", "/body") {
            $0.kind = .upload
            $0.source = "/etc/passwd"
            $0.body = Data([1])
        },
        Row("a directory to replace", "/destination/filename") {
            $0.destination = Destination(directory: "/", filename: "etc", overwrite: true)
        },
        Row("a colon in a user name", "/credential") { $0.credential = Credential(user: "a:b", password: "c") },
        Row("a line break in a password", "/credential") { $0.credential = Credential(user: "a", password: "c\n") },
        Row("a relative folder", "/destination/directory") { $0.destination = Destination(directory: "here") },
        Row("a folder with a zero byte", "/destination/directory") { $0.destination = Destination(directory: "/a\0b") },
        Row("a path that is too long", "/destination/directory") {
            $0.destination = Destination(directory: "/" + long(Limits.pathLength))
        },
        Row("a name with a slash", "/destination/filename") {
            $0.destination = Destination(directory: "/d", filename: "../x")
        },
        Row("a dot for a name", "/destination/filename") {
            $0.destination = Destination(directory: "/d", filename: "..")
        },
        Row("an empty name of a file", "/destination/filename") {
            $0.destination = Destination(directory: "/d", filename: "")
        },
        Row("a name with a control character", "/destination/filename") {
            $0.destination = Destination(directory: "/d", filename: "a\u{7}b")
        },
        Row("a digest that is too short", "/checksum/hex") { $0.checksum = Checksum(algorithm: .sha256, hex: "abc") },
        Row("a digest in capitals", "/checksum/hex") {
            $0.checksum = Checksum(algorithm: .md5, hex: "D41D8CD98F00B204E9800998ECF8427E")
        },
        Row("a source of a download", "/source") { $0.source = "/etc/hostname" },
        Row("a relative certificate", "/tls/certificateAuthority") {
            $0.tls = TLSSettings(certificateAuthority: "ca.pem")
        },
        Row("a relative client certificate", "/tls/clientCertificate") {
            $0.tls = TLSSettings(clientCertificate: "c.pem")
        },
        Row("a relative key", "/tls/clientKey") { $0.tls = TLSSettings(clientKey: "k.pem") },
        Row("no version of TLS", "/tls/minimumVersion") {
            $0.tls = TLSSettings(minimumVersion: .tls13, maximumVersion: .tls12)
        },
        Row("an upload without a file", "/source") { $0.kind = .upload },
        Row("an upload of a relative file", "/source") {
            $0.kind = .upload
            $0.source = "f"
        },
        Row("an upload of nothing", "/source") {
            $0.kind = .upload
            $0.source = "/does/not/exist"
        },
        Row("an upload of a folder", "/source") {
            $0.kind = .upload
            $0.source = "/tmp"
        },
        Row("a form of a download", "/form") { $0.form = [FormField(name: "a", value: "b")] },
        Row("resumption of a download", "/resumption") { $0.resumption = .tus },
        Row("a copy of a download's source", "/snapshot") { $0.snapshot = .copy },
        Row("a form beside a file", "/form") {
            $0.kind = .upload
            $0.source = "/etc/passwd"
            $0.form = [FormField(name: "a", value: "b")]
        },
        form("an empty form", "/form", []),
        form("too many fields in a form", "/form", Array(repeating: FormField(name: "a", value: ""), count: 101)),
        form("texts that are too long", "/form", [FormField(name: "a", value: long(Limits.formTextBytes))]),
        form("a field without a name", "/form/0/name", [FormField(name: "", value: "b")]),
        form("a field of nothing", "/form/1", [FormField(name: "a", value: ""), FormField(name: "b")]),
        form("a field of two", "/form/0", [FormField(name: "a", value: "b", source: "/etc/passwd")]),
        form("a text with a file name", "/form/0/fileName", [FormField(name: "a", value: "b", fileName: "c")]),
        form("a relative file in a form", "/form/0/source", [FormField(name: "a", source: "b")]),
        form("a missing file in a form", "/form/0/source", [FormField(name: "a", source: "/does/not/exist")]),
        form("a type with a line break", "/form", [FormField(name: "a", value: "b", contentType: "c\r\nD: e")]),
        form("a form over tus", "/resumption", [FormField(name: "a", value: "b")]) { $0.resumption = .tus },
        form("a form of another type", "/headers", [FormField(name: "a", value: "b")]) {
            $0.headers = [field("content-type", "text/plain")]
        },
        Row("an upload with a destination", "") {
            $0.kind = .upload
            $0.source = "/etc/passwd"
            $0.destination = Destination(directory: "/d")
        },
        Row("an upload by GET", "/method") {
            $0.kind = .upload
            $0.source = "/etc/passwd"
            $0.method = "GET"
        },
    ]

    @Test(arguments: ["", "+22", "888", "1777", "00022", "0x12", "-1"])
    func `A umask that is not three octal digits is refused`(umask: String) throws {
        var request = TaskRequest(url: "http://example.org/f")
        request.destination = Destination(directory: "/tmp", filename: "nightshift-umask", umask: umask)
        let problem = #expect(throws: Problem.self) {
            try RequestRules.record(
                request, session: .terminal, settings: SessionSettings(), now: TaskMachineTests.start, pointer: "")
        }
        #expect(problem?.pointer == "/destination/umask")
        for umask in ["0", "022", "0777", "77"] { #expect(Destination(directory: "/", umask: umask).mask != nil) }
    }

    @Test(arguments: refused) func `The problem names the invalid field of the request`(_ row: Row) {
        let problem = #expect(throws: Problem.self) { try Self.record(row.request) }
        #expect(problem?.pointer == row.pointer)
        #expect(problem?.status == 422)
    }

    static let accepted: [Row] = [
        Row("the least", "") { _ in },
        Row("the bounds of numbers", "") {
            $0.priority = 1
            $0.rateLimit = 1
            $0.resourceTimeout = Limits.longestTimeout
            $0.countOfBytesClientExpectsToReceive = -1
        },
        Row("a name that begins with a dot", "") {
            $0.destination = Destination(directory: "/d", filename: ".profile")
        },
        Row("a download by POST with a body", "") {
            $0.method = "POST"
            $0.body = Data(count: Limits.downloadBody)
        },
        Row("a download by HEAD", "") { $0.method = "HEAD" },
        Row("a download by any token", "") { $0.method = "M-SEARCH" },
        Row("an empty body", "") { $0.body = Data() },
        Row("an upload by DELETE", "") {
            $0.kind = .upload
            $0.source = "/etc/passwd"
            $0.method = "DELETE"
        },
        Row("a colon in a user name for Digest", "") {
            $0.credential = Credential(user: "a:b", password: "c", scheme: .digest)
        },
        Row("no proxy at all", "") { $0.proxy = "" },
        Row("a proxy of each kind", "") { $0.proxy = "socks5h://user:secret@proxy:1080" },
        Row("a proxy with an encoded @ in its password", "") { $0.proxy = "http://ada:p%40ss@proxy:3128/" },
        Row("a proxy with an address and no port", "") { $0.proxy = "HTTP://[::1]" },
        Row("an upload", "") {
            $0.kind = .upload
            $0.source = "/etc/passwd"
        },
    ]

    @Test(arguments: accepted) func `A valid request is accepted`(_ row: Row) throws {
        #expect(try Self.record(row.request).state == .waiting)
    }

    @Test(arguments: [
        "Content-Length", "CONNECTION", "Host", "expect", "Accept-Encoding", "Transfer-Encoding", "Upgrade",
        "Proxy-Authorization", "Proxy-Connection", "Keep-Alive", "TE", "Trailer",
    ])
    func `T1: Fields of the connection are removed from tasks and from session settings`(_ name: String) throws {
        var request = TaskRequest(url: "https://example.org/f")
        request.headers = [Self.field(name), Self.field("X-Own")]
        var settings = SessionSettings()
        settings.headers = [Self.field(name), Self.field("X-Session")]
        let record = try Self.record(request, settings)
        #expect(record.request.headers?.map(\.name) == ["X-Own", "X-Session"])
        #expect(try RequestRules.accepted(settings).headers.map(\.name) == ["X-Session"])
    }

    @Test func `T1: The service sends an app's own range, conditions and other header fields unchanged`() throws {
        var request = TaskRequest(url: "https://example.org/f")
        request.headers = [
            "Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since",
            "Authorization", "Cookie", "User-Agent", "Accept", "Cache-Control",
        ].map { Self.field($0) }
        #expect(try Self.record(request).request.headers == request.headers)
    }

    @Test func `T1: A refusal names the exact error`() {
        func code(_ change: (inout TaskRequest) -> Void) -> TransferFailure.Code? {
            var request = TaskRequest(url: "https://example.org/f")
            change(&request)
            return (#expect(throws: Problem.self) { try Self.record(request) })?.code
        }
        #expect(code { $0.url = nil } == .badURL)
        #expect(code { $0.url = "https://exa mple.org/" } == .badURL)
        #expect(code { $0.url = "ftp://example.org/" } == .unsupportedURL)
        #expect(code { $0.body = Data([1]) } == .tooLarge)
    }

    @Test func `The session provides values that the request leaves out`() throws {
        var settings = SessionSettings()
        settings.headers = [Self.field("A", "session"), Self.field("B", "session")]
        settings.idleTimeout = 5
        settings.resourceTimeout = 500
        settings.retryPolicy = .transientResponses
        settings.failsOnHTTPError = true
        settings.proxy = "http://p:1"
        settings.tls = TLSSettings(certificateAuthority: "/ca")
        var request = TaskRequest(url: "https://anna:pass@example.org/f")
        request.headers = [Self.field("a", "own")]
        request.priority = 0.9
        let record = try Self.record(request, settings)
        #expect(record.request.headers == [Self.field("a", "own"), Self.field("B", "session")])
        #expect(record.request.idleTimeout == 5)
        #expect(record.request.retryPolicy == .transientResponses)
        #expect(record.request.failsOnHTTPError == true)
        #expect(record.request.proxy == "http://p:1")
        #expect(record.request.tls?.certificateAuthority == "/ca")
        #expect(record.request.credential == Credential(user: "anna", password: "pass"))
        #expect(record.request.url == "https://example.org/f")
        #expect(record.origin == "https://example.org:443")
        #expect(record.deadline == 600)
        #expect(record.timeLeft == nil)
        #expect(record.priority == 0.9)
    }

    @Test func `TLS files come from the task or the session as a group, and so do TLS versions`() throws {
        var settings = SessionSettings()
        settings.tls = TLSSettings(certificateAuthority: "/ca", maximumVersion: .tls12)
        var request = TaskRequest(url: "https://example.org/f")
        request.tls = TLSSettings(minimumVersion: .tls13)
        #expect(
            try Self.record(request, settings).request.tls
                == TLSSettings(certificateAuthority: "/ca", minimumVersion: .tls13))
        request.tls = TLSSettings(clientCertificate: "/cert")
        #expect(
            try Self.record(request, settings).request.tls
                == TLSSettings(clientCertificate: "/cert", maximumVersion: .tls12))
        settings.tls = nil
        #expect(try Self.record(request, settings).request.tls == request.tls)
    }

    @Test func `B9: A task's wish to yield overrides that of its session`() throws {
        var settings = SessionSettings()
        var request = TaskRequest(url: "https://example.org/f")
        #expect(try Self.record(request, settings).request.yields == nil)
        settings.yields = true
        #expect(try Self.record(request, settings).request.yields == true)
        request.yields = false
        #expect(try Self.record(request, settings).request.yields == false)
    }

    @Test func `The requirements of a task override those of its session`() throws {
        var settings = SessionSettings()
        settings.isDiscretionary = true
        settings.allowsCellularAccess = false
        settings.allowsExpensiveNetworkAccess = false
        settings.allowsConstrainedNetworkAccess = false
        settings.requiresExternalPower = true
        settings.minimumBattery = 49.5
        settings.resourceTimeout = 500
        var request = TaskRequest(url: "https://example.org/f")
        let all = try Self.record(request, settings)
        var expected = TransferRules()
        expected.discretion = .full
        expected.allowsCellularAccess = false
        expected.allowsExpensiveNetworkAccess = false
        expected.allowsConstrainedNetworkAccess = false
        expected.requiresExternalPower = true
        expected.minimumBattery = 50
        #expect(all.rules == expected)
        #expect(all.relaxesAt == Self.now.bootSeconds + 250)
        #expect(all.status(now: Self.now).rules == expected)
        request.isDiscretionary = false
        request.allowsCellularAccess = true
        request.allowsExpensiveNetworkAccess = true
        request.allowsConstrainedNetworkAccess = true
        request.requiresExternalPower = false
        request.minimumBattery = 0
        let none = try Self.record(request, settings)
        #expect(none.rules.isEmpty)
        #expect(none.relaxesAt == nil)
        #expect(none.status(now: Self.now).rules == nil)
        #expect(!none.isDiscretionForced)
    }

    @Test func `A request can add a task that is suspended, or that begins later`() throws {
        var request = TaskRequest(url: "https://example.org/f")
        request.suspended = true
        request.resourceTimeout = 70
        request.earliestBeginDate = Date(timeIntervalSince1970: Self.now.wallSeconds + 60)
        let record = try Self.record(request)
        #expect(record.state == .suspended)
        #expect(record.deadline == nil)
        #expect(record.timeLeft == 70)
        #expect(record.beginAt == Self.now.wallSeconds + 60)
        request.earliestBeginDate = Date(timeIntervalSince1970: Self.now.wallSeconds - 60)
        #expect(try Self.record(request).beginAt == nil)
    }

    @Test func `The service validates settings, changes and identifiers`() {
        func pointer(_ body: () throws -> Void) -> String? { (#expect(throws: Problem.self) { try body() })?.pointer }
        var settings = SessionSettings()
        func pointer(_ settings: SessionSettings) -> String? { pointer { _ = try RequestRules.accepted(settings) } }
        settings.httpMaximumConnectionsPerHost = 0
        #expect(pointer(settings) == "/httpMaximumConnectionsPerHost")
        settings.httpMaximumConnectionsPerHost = 100_000
        #expect(
            (try? RequestRules.accepted(settings))?.httpMaximumConnectionsPerHost == Limits.connectionsPerHost)
        settings = SessionSettings()
        settings.headers = [Self.field("A B")]
        #expect(pointer(settings) == "/headers/0/name")
        settings = SessionSettings()
        settings.idleTimeout = -1
        #expect(pointer(settings) == "/idleTimeout")
        settings = SessionSettings()
        settings.minimumBattery = 101
        #expect(pointer(settings) == "/minimumBattery")
        #expect(pointer { try RequestRules.check(TaskChange(priority: -0.1), pointer: "") } == "/priority")
        #expect(
            pointer { try RequestRules.check(TaskChange(rateLimit: -1), pointer: "/change") } == "/change/rateLimit")
        #expect(
            pointer { try RequestRules.check(TaskChange(description: Self.long(70_000)), pointer: "") }
                == "/description"
        )
        let data = Self.long(Limits.clientDataLength + 1)
        #expect(pointer { try RequestRules.check(TaskChange(clientData: data), pointer: "") } == "/clientData")
        #expect(pointer { try RequestRules.check(ServiceSettings(maximumTransfers: 0)) } == "/maximumTransfers")
        #expect(pointer { try RequestRules.check(ServiceSettings(rateLimit: -1)) } == "/rateLimit")
        #expect(pointer { try RequestRules.check([TaskID(1), TaskID(0)]) } == "/tasks/1")
        #expect(pointer { try RequestRules.check([TaskID(-1)]) } == "/tasks/0")
        #expect(pointer { try RequestRules.check(SessionID(rawValue: "")) } == "/session")
        #expect(pointer { try RequestRules.check(SessionID(rawValue: "a\nb")) } == "/session")
        #expect(
            pointer { try RequestRules.check(SessionID(rawValue: Self.long(Limits.sessionIdentifierLength + 1))) }
                == "/session")
        #expect(throws: Never.self) {
            try RequestRules.check(TaskChange(priority: 0, rateLimit: 0, description: ""), pointer: "")
            try RequestRules.check(SessionID(rawValue: Self.long(255)))
            try RequestRules.check(ServiceSettings(rateLimit: 0, maximumTransfers: 256))
        }
    }

    static let now = ClockReading(bootID: "b", bootSeconds: 100, wallSeconds: 1_800_000_000)

    static func record(_ request: TaskRequest, _ settings: SessionSettings = SessionSettings()) throws -> TaskRecord {
        try RequestRules.record(request, session: .terminal, settings: settings, now: now, pointer: "/tasks/3")
    }
}
