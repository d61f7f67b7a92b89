import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests that the environment in which the service was started does not affect requests.
@Suite struct EnvironmentTests {
    /// Returns variables that libraries of the service would read. Each would break a transfer or leak its data.
    private static func hostile(_ directory: TemporaryDirectory) throws -> [String: String] {
        let proxy = "http://127.0.0.1:\(try freePort())"
        return [
            "http_proxy": proxy, "https_proxy": proxy, "all_proxy": proxy, "ALL_PROXY": proxy, "no_proxy": "*",
            "NO_PROXY": "*", "SSLKEYLOGFILE": directory.path("keys"), "CURL_HOME": directory.path,
            "NETRC": "/nonexistent",
            "SSL_CERT_FILE": "/nonexistent", "SSL_CERT_DIR": "/nonexistent", "OPENSSL_CONF": "/nonexistent",
            "RES_OPTIONS": "attempts:0 timeout:1 use-vc", "LOCALDOMAIN": "invalid", "HOSTALIASES": "/nonexistent",
            "SQLITE_TMPDIR": "/nonexistent", "TMPDIR": "/nonexistent", "KRB5_TRACE": directory.path("kerberos"),
        ]
    }

    @Test("T8: In a hostile environment the service uses a task's proxy and writes no TLS keys")
    func ownProxy() async throws {
        let directory = try TemporaryDirectory()
        let service = try Service(environment: Self.hostile(directory))
        let (proxy, origin) = (try OriginServer(), try OriginServer())
        origin.serve("/file", .text("here"))
        try await service.start()
        var request = TaskRequest.download("http://origin.invalid/file", to: service.scratch.path("to"))
        request.proxy = proxy.url("")
        let id = try await service.api.enqueue(request)
        try await service.waitForEnd(id)
        // An origin server does not know an absolute target as a path, but the test only needs the request.
        #expect(proxy.requests.map(\.target) == ["http://origin.invalid/file"])
        var direct = TaskRequest.download(origin.url("/file"), to: service.scratch.path("to"), named: "direct")
        direct.proxy = ""
        let end = try await service.waitForEnd(try await service.api.enqueue(direct))
        #expect(end.state == .completed, "\(end)")
        for name in ["keys", "kerberos"] {
            #expect(!FileManager.default.fileExists(atPath: directory.path(name)), "\(name)")
        }
        #expect(try await service.api.status().proxyVariables?.first == "http_proxy")
    }

    @Test("T8: Proxy variables of the client that starts the service apply only to its transfers")
    func clientsProxy() async throws {
        let service = try Service()
        let (proxy, origin) = (try OriginServer(), try OriginServer())
        origin.serve("/file", .text("here"))
        let environment = [
            "NIGHTSHIFT_HOME": service.home, "HOME": service.scratch.path, "PATH": "/usr/bin:/bin",
            "http_proxy": proxy.url(""), "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent",
        ]
        let command = ["get", "--quiet", "-d", service.scratch.path, "http://origin.invalid/client"]
        _ = try await ChildProcess.run(Programs.commandLine, command, environment: environment, within: .seconds(60))
        let process = try await service.api.status().processID
        defer { kill(process, SIGKILL) }
        #expect(proxy.requests.map(\.target) == ["http://origin.invalid/client"])
        // The second client has no proxy variables.
        let other = try await service.cli(["get", "--quiet", "-d", service.scratch.path, origin.url("/file")])
        #expect(other.code == 0, "\(other)")
        #expect(origin.requests.map(\.target) == ["/file"])
        #expect(proxy.requests.count == 1)
        #expect(try await service.api.status().proxyVariables == [])
    }

    @Test(
        "B1: Clients with and without a runtime directory find a service started either way",
        arguments: [true, false])
    func oneService(hasRuntimeDirectory: Bool) async throws {
        let directory = try TemporaryDirectory()
        let base = [
            "HOME": directory.path, "PATH": "/usr/bin:/bin", "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent",
        ]
        let runtime = directory.path("run")
        try FileManager.default.createDirectory(
            atPath: runtime, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let session = base.merging(["XDG_RUNTIME_DIR": runtime]) { $1 }
        let (first, second) = hasRuntimeDirectory ? (session, base) : (base, session)
        let service = try ChildProcess(
            Programs.daemon, arguments: [], environment: first, output: .file(directory.path("log")),
            errors: .file(directory.path("log")))
        defer { service.kill(SIGKILL) }
        func status(_ environment: [String: String]) async throws -> ChildProcess.Outcome {
            try await ChildProcess.run(
                Programs.commandLine, ["status", "--json"], environment: environment, within: .seconds(60))
        }
        try await eventually("an answer of the service", within: .seconds(60)) { try await status(first).code == 0 }
        let found = try await status(second)
        #expect(found.code == 0, "\(found)")
        let answer = try JSON.decode(ServiceStatus.self, from: Data(found.output.utf8))
        #expect(answer.processID == service.pid)
        let doctor = try await ChildProcess.run(
            Programs.commandLine, ["doctor"], environment: second, within: .seconds(60))
        #expect(doctor.output.contains("runs as process \(service.pid)"), "\(doctor)")
        // The lock and the socket of the killed service remain, but clients do not trust them.
        service.kill(SIGKILL)
        _ = try await service.waitForExit()
        #expect(try await status(second).code == 3)
        #expect(try await status(first).code == 3)
    }
}
