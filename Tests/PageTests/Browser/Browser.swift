import Foundation
import NightshiftCurl
import TestSupport

/// A headless Chromium, driven over WebDriver (W3C) by chromedriver. Both end with this object.
final class Browser: Sendable {
    static let isThere = Programs.has("chromium") && Programs.has("chromedriver")

    enum Width: String, Sendable, CaseIterable {
        case desktop, phone, narrow

        static let usual: [Self] = [.desktop, .phone]

        var mobile: Int? {
            switch self {
            case .desktop: nil
            case .phone: 390
            case .narrow: 320
            }
        }
    }

    private static let loop = CurlLoop()
    private let driver: ChildProcess
    private let base: String
    private let session: String
    private let files: TemporaryDirectory

    /// - Parameter typeSize: the user's default font size in pixels. 16 is usual.
    init(_ width: Width = .desktop, isDark: Bool = false, typeSize: Int = 16) async throws {
        let port = try freePort()
        files = try TemporaryDirectory()
        driver = try ChildProcess(
            "chromedriver", arguments: ["--port=\(port)"],
            environment: ["HOME": files.path, "TMPDIR": files.path, "PATH": "/usr/bin:/bin", "TZ": "UTC"],
            ownGroup: true)
        base = "http://127.0.0.1:\(port)"
        let base = base
        try await eventually("chromedriver", within: .seconds(60)) {
            (try? await Self.exchange("GET", base + "/status", nil)) != nil
        }
        var arguments = [
            "--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-proxy-server",
            "--user-data-dir=\(files.path("profile"))", "--window-size=1280,900",
        ]
        // Chromium's sandbox does not work for root. It is not needed, because the pages are those of the tests.
        if geteuid() == 0 { arguments.append("--no-sandbox") }
        if isDark { arguments.append("--blink-settings=preferredColorScheme=0") }
        var options = Options(args: arguments)
        options.prefs = ["webkit.webprefs.default_font_size": typeSize]
        if let width = width.mobile {
            options.mobileEmulation = .init(deviceMetrics: .init(width: width, height: 844, pixelRatio: 1, touch: true))
        }
        let wanted = NewSession(capabilities: .init(alwaysMatch: Wanted(options: options)))
        let made = try await Self.exchange("POST", base + "/session", try JSONEncoder().encode(wanted))
        session = try JSONDecoder().decode(Answer<Made>.self, from: made).value.sessionId
    }

    deinit {
        // The process group contains the browser and its child processes.
        kill(-driver.pid, SIGKILL)
    }

    // MARK: - User input

    func open(_ address: String) async throws {
        try await command("POST", "/url", ["url": address])
    }

    /// Clicks an element as soon as it exists and can be clicked.
    func click(_ selector: String) async throws {
        try await retrying("a click on \(selector)") {
            try await command("POST", "/element/\(try await element(selector))/click", [String: String]())
        }
    }

    func type(_ text: String, into selector: String) async throws {
        try await retrying("typing into \(selector)") {
            let id = try await element(selector)
            try await command("POST", "/element/\(id)/clear", [String: String]())
            try await command("POST", "/element/\(id)/value", ["text": text])
        }
    }

    /// Drags from the middle of an element upwards by `dots` pixels, with a pointer of the given type.
    func swipeUp(_ selector: String, by dots: Int, with pointer: String = "mouse") async throws {
        // A card that is still falling back has not reached its final position.
        try await wait("document.querySelector(arguments[0]) && !document.getAnimations().length", [selector])
        let middle: [Double] = try await run(
            """
            const box = document.querySelector(arguments[0]).getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
            """, [selector])
        let (x, y) = (middle[0].rounded(), middle[1].rounded())
        func move(_ up: Int) -> String {
            "{\"type\":\"pointerMove\",\"duration\":60,\"x\":\(Int(exactly: x) ?? 0),\"y\":\((Int(exactly: y) ?? 0) - up)}"
        }
        let steps = [
            move(0), "{\"type\":\"pointerDown\",\"button\":0}", move(dots / 3), move(dots),
            "{\"type\":\"pointerUp\",\"button\":0}",
        ]
        let body =
            "{\"actions\":[{\"type\":\"pointer\",\"id\":\"hand\",\"parameters\":{\"pointerType\":\"\(pointer)\"},\"actions\":["
            + steps.joined(separator: ",") + "]}]}"
        _ = try await Self.exchange("POST", base + "/session/\(session)/actions", Data(body.utf8))
    }

    /// Opens another tab and switches to it.
    func openTab() async throws {
        let data = try await Self.exchange(
            "POST", base + "/session/\(session)/window/new", try JSONEncoder().encode(["type": "tab"]))
        let tab = try JSONDecoder().decode(Answer<Tab>.self, from: data).value
        try await command("POST", "/window", ["handle": tab.handle])
    }

    /// Presses keys one after the other on the focused element. All keys stay down until the last one is pressed.
    func press(_ keys: String...) async throws {
        let actions =
            keys.map { "{\"type\":\"keyDown\",\"value\":\"\($0)\"}" }
            + keys.reversed().map { "{\"type\":\"keyUp\",\"value\":\"\($0)\"}" }
        let body =
            "{\"actions\":[{\"type\":\"key\",\"id\":\"keys\",\"actions\":[" + actions.joined(separator: ",") + "]}]}"
        _ = try await Self.exchange("POST", base + "/session/\(session)/actions", Data(body.utf8))
    }

    /// Moves the pointer over an element, to `part` of its width from the left and `dots` pixels below its top.
    func point(at selector: String, along part: Double, down dots: Double) async throws {
        let place: [Int] = try await run(
            """
            const box = document.querySelector(arguments[0]).getBoundingClientRect();
            return [Math.round(box.x + box.width * Number(arguments[1])), Math.round(box.y + Number(arguments[2]))];
            """, [selector, String(part), String(dots)])
        let body =
            "{\"actions\":[{\"type\":\"pointer\",\"id\":\"hand\",\"parameters\":{\"pointerType\":\"mouse\"},\"actions\":"
            + "[{\"type\":\"pointerMove\",\"duration\":60,\"x\":\(place[0]),\"y\":\(place[1])}]}]}"
        _ = try await Self.exchange("POST", base + "/session/\(session)/actions", Data(body.utf8))
    }

    // MARK: - Output

    /// Runs a script in the page, and returns the script's result.
    func run<Value: Decodable>(_ script: String, _ arguments: [String] = []) async throws -> Value {
        try await evaluate("sync", script, arguments)
    }

    /// Runs a script that passes its result to a callback, its last argument.
    func runLater<Value: Decodable>(_ script: String, _ arguments: [String] = []) async throws -> Value {
        try await evaluate("async", script, arguments)
    }

    /// Waits until an expression is true in the page.
    func wait(_ expression: String, _ arguments: [String] = []) async throws {
        try await eventually("\(expression) \(arguments)", within: .seconds(30)) {
            try await run("return Boolean(\(expression));", arguments)
        }
    }

    /// Returns the errors that the page has reported since the last call.
    func complaints() async throws -> [String] {
        let data = try await Self.exchange(
            "POST", base + "/session/\(session)/se/log", try JSONEncoder().encode(["type": "browser"]))
        return try JSONDecoder().decode(Answer<[Complaint]>.self, from: data).value
            .filter { $0.level == "SEVERE" }.map(\.message)
    }

    /// Returns a screenshot of the page as PNG.
    func screenshot() async throws -> Data {
        let data = try await Self.exchange("GET", base + "/session/\(session)/screenshot", nil)
        return Data(base64Encoded: try JSONDecoder().decode(Answer<String>.self, from: data).value) ?? Data()
    }

    // MARK: - WebDriver

    private func evaluate<Value: Decodable>(
        _ kind: String, _ script: String, _ arguments: [String]
    ) async throws -> Value {
        let body = try JSONEncoder().encode(Script(script: script, args: arguments))
        let data = try await Self.exchange("POST", base + "/session/\(session)/execute/\(kind)", body)
        return try JSONDecoder().decode(Answer<Value>.self, from: data).value
    }

    private func element(_ selector: String) async throws -> String {
        let body = try JSONEncoder().encode(["using": "css selector", "value": selector])
        let data = try await Self.exchange("POST", base + "/session/\(session)/element", body)
        guard let id = try JSONDecoder().decode(Answer<[String: String]>.self, from: data).value.values.first else {
            throw Refused(description: "no element \(selector)")
        }
        return id
    }

    private func command(_ method: String, _ path: String, _ body: [String: String]) async throws {
        _ = try await Self.exchange(method, base + "/session/\(session)" + path, try JSONEncoder().encode(body))
    }

    /// Repeats an action until it succeeds, because rows are reused, and dialogs open and close.
    private func retrying(_ what: String, _ action: () async throws -> Void) async throws {
        var last = ""
        do {
            try await eventually(what, within: .seconds(20)) {
                do {
                    try await action()
                    return true
                } catch let refused as Refused {
                    last = refused.description
                    return false
                }
            }
        } catch is WaitedTooLong {
            throw Refused(description: "\(what): \(last)")
        }
    }

    struct Refused: Error, CustomStringConvertible {
        let description: String
    }

    private static func exchange(_ method: String, _ url: String, _ body: Data?) async throws -> Data {
        var request = CurlRequest(url: url, method: method)
        request.proxy = ""
        request.idleTimeout = 240
        if let body {
            request.headers = [CurlField(name: "Content-Type", value: "application/json")]
            request.body = .bytes([UInt8](body))
        }
        let response = try await loop.send(request)
        guard response.head.status == 200 else {
            throw Refused(description: String(decoding: response.body.prefix(400), as: UTF8.self))
        }
        return Data(response.body)
    }

    private struct Answer<Value: Decodable>: Decodable {
        var value: Value
    }

    private struct Made: Decodable {
        var sessionId: String
    }

    private struct Tab: Decodable {
        var handle: String
    }

    private struct Complaint: Decodable {
        var level: String
        var message: String
    }

    private struct Script: Encodable {
        var script: String
        var args: [String]
    }

    private struct NewSession: Encodable {
        var capabilities: Capabilities
    }

    private struct Capabilities: Encodable {
        var alwaysMatch: Wanted
    }

    private struct Wanted: Encodable {
        var browserName = "chrome"
        var options: Options
        var logs = ["browser": "ALL"]

        enum CodingKeys: String, CodingKey {
            case browserName
            case options = "goog:chromeOptions"
            case logs = "goog:loggingPrefs"
        }
    }

    private struct Options: Encodable {
        var args: [String]
        var prefs: [String: Int] = [:]
        var mobileEmulation: Emulation?
    }

    private struct Emulation: Encodable {
        var deviceMetrics: Metrics
    }

    private struct Metrics: Encodable {
        var width: Int
        var height: Int
        var pixelRatio: Double
        var touch: Bool
    }
}
