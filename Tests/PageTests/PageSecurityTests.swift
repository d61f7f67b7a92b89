import Foundation
import NightshiftAPI
import NightshiftClient
import NightshiftCurl
import TestSupport
import Testing

/// B5: Requests to the real page from programs and users that have no access.
@Suite struct PageSecurityTests {
    @Test("B5: a link works once, and every request needs the cookie that the link sets")
    func onlyTheLink() async throws {
        let fixture = try await PageFixture()
        let raw = RawClient(address: try await fixture.open())
        for path in [
            "/", "/page/app.js", "/page/setup.json", "/page/timeline.json?seconds=60", "/v1/status", "/v1/events",
            "/open/",
            "/open/" + String(repeating: "0", count: 64),
        ] {
            #expect(try await raw.send("GET", path).head.status == 403, "\(path)")
        }
        let cookie = try await raw.letIn()
        #expect(try await raw.send("GET", String(raw.address.url.dropFirst(raw.origin.count))).head.status == 403)
        #expect(try await raw.send("GET", "/v1/status", ["Cookie": cookie]).head.status == 200)
        let other = RawClient(address: try await fixture.open(["--port", String(try freePort())]))
        #expect(other.port != raw.port)
        let name = "nightshift-\(other.port)="
        let old = name + cookie.drop { $0 != "=" }.dropFirst()
        #expect(try await other.send("GET", "/v1/status", ["Cookie": cookie]).head.status == 403)
        #expect(try await other.send("GET", "/v1/status", ["Cookie": old]).head.status == 403)
    }

    @Test("B5: a user has one page process, and each command opens a link of its own")
    func oneProcess() async throws {
        let fixture = try await PageFixture()
        let first = try await fixture.open()
        let second = try await fixture.open()
        #expect(first.processID == second.processID && first.url != second.url)
        for address in [first, second] { _ = try await RawClient(address: address).letIn() }
        kill(first.processID, SIGKILL)
        let third = try await fixture.open()
        #expect(third.processID != first.processID)
        _ = try await RawClient(address: third).letIn()
    }

    @Test("B5: requests from other origins and hosts, and forged ones, are refused without effect")
    func foreignPages() async throws {
        let fixture = try await PageFixture()
        let id = try await fixture.enqueue(["/none"]) { $0.suspended = true }[0]
        let raw = RawClient(address: try await fixture.open())
        let cookie = try await raw.letIn()
        let token = try await raw.token(cookie)
        let good = [
            "Cookie": cookie, "Origin": raw.origin, "Nightshift-Page": token, "Content-Type": "application/json",
            "Sec-Fetch-Site": "same-origin",
        ]
        let path = "/v1/tasks/\(id)/cancel"
        let forgeries: [[String: String]] = [
            ["Origin": "http://evil.example"], ["Origin": "null"], ["Origin": "http://127.0.0.1:1"], ["Origin": ""],
            ["Host": "evil.example:\(raw.port)"], ["Host": "localhost:\(raw.port)"], ["Host": "127.0.0.1"],
            ["Cookie": ""], ["Cookie": "nightshift-\(raw.port)=\(String(repeating: "0", count: 64))"],
            ["Nightshift-Page": ""], ["Nightshift-Page": String(repeating: "0", count: 64)],
            ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"],
        ]
        for forgery in forgeries {
            let response = try await raw.send("POST", path, good.merging(forgery) { $1 }, body: "{}")
            #expect(response.head.status == 403, "\(forgery)")
        }
        let form = good.merging(["Content-Type": "application/x-www-form-urlencoded"]) { $1 }
        #expect(try await raw.send("POST", path, form, body: "a=b").head.status == 415)
        let preflight = [
            "Host": "127.0.0.1:\(raw.port)", "Origin": "http://evil.example", "Access-Control-Request-Method": "POST",
        ]
        let answer = try await raw.send("OPTIONS", path, preflight)
        #expect(answer.head.status == 403)
        #expect(!answer.head.fields.contains { $0.name.lowercased().hasPrefix("access-control") })
        #expect(try await fixture.client.send(.task(id)).state == .suspended)
        #expect(try await raw.send("POST", path, good, body: "{}").head.status == 200)
        #expect(try await fixture.client.send(.task(id)).state == .cancelled)
    }

    @Test("B5: the page does not forward requests outside its list")
    func notPassedOn() async throws {
        let fixture = try await PageFixture()
        let raw = RawClient(address: try await fixture.open())
        let cookie = try await raw.letIn()
        let fields = [
            "Cookie": cookie, "Origin": raw.origin, "Nightshift-Page": try await raw.token(cookie),
            "Content-Type": "application/json",
        ]
        for path in ["/v1/shutdown", "/v1/apps", "/v1/process/state", "/v1/apps/x/kill"] {
            #expect(try await raw.send("POST", path, fields, body: "{}").head.status == 404, "\(path)")
        }
        #expect(try await fixture.client.send(.status).processID > 0)
        let policy = try await raw.send("GET", "/", ["Cookie": cookie]).head.fields
        #expect(policy.contains { $0.name == "Content-Security-Policy" && $0.value.contains("script-src 'self'") })
        #expect(policy.contains { $0.name == "X-Frame-Options" && $0.value == "DENY" })
    }

    @Test(
        "B5: another user of the machine gets no response, even with link and cookie",
        .enabled(
            if: geteuid() == 0 && Programs.has("setpriv") && Programs.has("curl"), "only root can be somebody else"))
    func anotherUser() async throws {
        let fixture = try await PageFixture()
        let raw = RawClient(address: try await fixture.open())
        let asNobody = ["--reuid", "65534", "--clear-groups", "curl", "--noproxy", "*", "-s", "-S", "-m", "20"]
        let link = try await ChildProcess.run("setpriv", asNobody + [raw.address.url])
        #expect(link.code != 0)
        #expect(link.output.isEmpty)
        let cookie = try await raw.letIn()
        let look = try await ChildProcess.run(
            "setpriv", asNobody + ["-H", "Cookie: \(cookie)", raw.origin + "/v1/status"])
        #expect(look.code != 0)
        #expect(look.output.isEmpty)
        let own = try await ChildProcess.run(
            "curl", ["--noproxy", "*", "-s", "-H", "Cookie: \(cookie)", raw.origin + "/v1/status"])
        #expect(own.output.contains("lastJournalEntry"))
    }

    @Test("B5: nightshift page opens its link with xdg-open, and prints the link if that fails")
    func opening() async throws {
        let fixture = try await PageFixture()
        for (script, isOpened) in [("echo \"$1\" > '\(fixture.files.path("opened"))'", true), ("exit 3", false)] {
            let folder = fixture.files.path("bin")
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            // Another process writes the file. If this process wrote it, a child could inherit the open descriptor, and
            // executing the file would then fail.
            let text = try fixture.files.write("#!/bin/sh\n\(script)\n", to: "script")
            #expect(try await ChildProcess.run("install", ["-m", "700", text, "\(folder)/xdg-open"]).code == 0)
            let path = folder + ":" + (fixture.variables["PATH"] ?? "")
            let outcome = try await ChildProcess.run(
                Programs.commandLine, ["page"], environment: fixture.variables.merging(["PATH": path]) { $1 })
            #expect(outcome.code == 0, "\(outcome)")
            #expect(outcome.output.isEmpty == isOpened, "\(outcome)")
            let link =
                isOpened ? String(decoding: try fileBytes(fixture.files.path("opened")), as: UTF8.self) : outcome.output
            let raw = RawClient(
                address: PageAddress(url: link.trimmingCharacters(in: .whitespacesAndNewlines), processID: 0))
            #expect(try await raw.letIn().hasPrefix("nightshift-\(raw.port)="))
        }
    }

    @Test("B5: the program of the page ends when the page has no visitors")
    func ends() async throws {
        let fixture = try await PageFixture()
        let address = try await fixture.brief(timeout: 2)
        let raw = RawClient(address: address)
        let cookie = try await raw.letIn()
        var request = CurlRequest(url: raw.origin + "/v1/events", method: "GET")
        request.headers = [CurlField(name: "Cookie", value: cookie)]
        request.proxy = ""
        do {
            let stream = try await RawClient.loop.stream(request)
            #expect(stream.head.status == 200)
            _ = try await stream.next()
            try await passTime(.seconds(3), because: "Longer than the page waits without a visitor.")
            #expect(kill(address.processID, 0) == 0)
            withExtendedLifetime(stream) {}
        }
        try await eventually("the end of the page", within: .seconds(30)) { fixture.hasEnded(address) }
    }
}
