import Foundation
import NightshiftAPI
import NightshiftCurl
import Synchronization
import TestSupport

/// The bridge for clients of aria2, in a process that the test starts and kills as often as it needs.
final class BridgeProcess: Sendable {
    static let secret = "sesame"

    let port: UInt16
    private let environment: [String: String]
    private let directory: TemporaryDirectory
    private let running = Mutex<ChildProcess?>(nil)

    /// - Parameter home: the home of the service.
    init(home: String) throws {
        port = try freePort()
        directory = try TemporaryDirectory()
        environment = [
            "NIGHTSHIFT_HOME": home, "HOME": directory.path, "TZ": "UTC", "NIGHTSHIFT_ARIA2_SECRET": Self.secret,
            "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin:/usr/sbin:/sbin",
        ]
    }

    deinit {
        running.withLock { $0?.kill(SIGKILL) }
    }

    var url: String { "http://127.0.0.1:\(port)/jsonrpc" }

    var processID: Int32? { running.withLock { $0?.pid } }

    var log: String { (try? String(contentsOfFile: directory.path("log"), encoding: .utf8)) ?? "" }

    /// Starts the process, and suspends until it listens.
    func start() async throws {
        let output = directory.path("address")
        try? FileManager.default.removeItem(atPath: output)
        let process = try ChildProcess(
            Programs.daemon, arguments: ["aria2", "--port", "\(port)"], environment: environment, output: .file(output),
            errors: .file(directory.path("log")))
        running.withLock { $0 = process }
        try await eventually("the bridge", within: .seconds(60)) {
            if let exit = process.exit { throw SystemError("the bridge ended with \(exit): \(log)") }
            return (try? String(contentsOfFile: output, encoding: .utf8))?.hasSuffix("\n") ?? false
        }
    }

    /// Sends SIGKILL, and suspends until the process is gone.
    func kill() async throws {
        running.withLock { $0 }?.kill(SIGKILL)
        try await waitForEnd()
    }

    /// Suspends until the process is gone.
    func waitForEnd() async throws {
        _ = try await running.withLock { $0 }?.waitForExit()
    }

    /// Starts a client that opens a WebSocket and writes everything that it receives to the file `output`.
    func listener(output: String) throws -> ChildProcess {
        let script = """
            exec 3<>/dev/tcp/127.0.0.1/$0
            printf '%s\\r\\n' 'GET /jsonrpc HTTP/1.1' "Host: 127.0.0.1:$0" 'Connection: Upgrade' 'Upgrade: websocket' \
                'Sec-WebSocket-Version: 13' 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==' '' >&3
            exec cat <&3
            """
        return try ChildProcess(
            "bash", arguments: ["-c", script, "\(port)"], environment: environment, output: .file(output),
            errors: .file(directory.path("listener")))
    }

    /// The error of a call.
    struct Refusal: Error, Decodable, Equatable {
        var code: Int
        var message: String
    }

    private struct Call<Parameters: Encodable>: Encodable {
        var id = "1"
        var method: String
        var params: Parameters
    }

    private struct Answer<Value: Decodable>: Decodable {
        var result: Value?
        var error: Refusal?
    }

    /// Calls a method with parameters that begin with the secret. Throws ``Refusal``, or an error of the connection.
    func call<Value: Decodable>(_ method: String, _ parameters: some Encodable, as type: Value.Type) async throws
        -> Value
    {
        let body = try JSONEncoder().encode(Call(method: method, params: parameters))
        let request = CurlRequest(url: url, method: "POST", body: .bytes([UInt8](body)))
        let response = try await ServiceAPI.loop.send(request)
        let answer = try JSONDecoder().decode(Answer<Value>.self, from: Data(response.body))
        if let error = answer.error { throw error }
        guard let result = answer.result else { throw SystemError("\(method): no result") }
        return result
    }
}
