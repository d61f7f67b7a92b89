import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests of transfers that yield to other traffic, on a real line with a queue. `make bench` measures how well they do.
@Suite(.enabled(if: NarrowLine.isPossible, "needs root and iproute2"), .timeLimit(.minutes(20)))
struct YieldTests {
    /// A server, and a service at the other end of a line of 20 Mbit/s.
    private struct Scene {
        let line: NarrowLine
        let service: Service
        let server: ChildProcess
        let documents: TemporaryDirectory

        static let url = "http://\(NarrowLine.serverAddress):8080/file"

        init(hasTimestamps: Bool = true) async throws {
            let line = try await NarrowLine(rate: "20mbit", queue: 400, hasTimestamps: hasTimestamps)
            service = try Service()
            let documents = try TemporaryDirectory()
            let size = 200 << 20
            _ = try documents.write("", to: "file")
            guard truncate(documents.path("file"), off_t(size)) == 0 else { throw SystemError("truncate") }
            let configuration = try documents.write(
                """
                daemon off; worker_processes 1; pid \(documents.path)/pid;
                \(geteuid() == 0 ? "user root;" : "")
                events { worker_connections 64; }
                http {
                    access_log off; sendfile on; client_max_body_size 0;
                    \(["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(documents.path)/\($0);" }.joined(separator: " "))
                    server { listen \(NarrowLine.serverAddress):8080; root \(documents.path); location /put/ { dav_methods PUT; create_full_put_path on; } }
                }
                """, to: "nginx.conf")
            let words = line.server + ["/usr/sbin/nginx", "-c", configuration, "-e", documents.path("error.log")]
            server = try ChildProcess(words[0], arguments: Array(words.dropFirst()))
            try await service.start(under: line.client)
            (self.line, self.documents) = (line, documents)
            try await eventually("the server") { try await Self.rate(on: line, seconds: 1) > 0 }
        }

        /// Downloads a part of a file with curl. Returns the share that a transfer of the service got of all bytes that were
        /// transferred meanwhile. The share does not depend on the speed of the machine.
        func share(of id: TaskID, besideDownloadOf megabytes: Int) async throws -> Double {
            let range = ["-r", "0-\((megabytes << 20) - 1)", "-o", "/dev/null", Self.url]
            return try await share(of: id, besideCurl: range, megabytes) { $0.countOfBytesReceived }
        }

        /// Starts a download with curl, which fills the line until it is stopped or has the whole file.
        func traffic() throws -> ChildProcess {
            let words = line.client + ["curl", "-s", "-o", "/dev/null", Self.url]
            return try ChildProcess(words[0], arguments: Array(words.dropFirst()))
        }

        /// Runs curl, which transfers some megabytes.
        func share(
            of id: TaskID, besideCurl arguments: [String], _ megabytes: Int, count: (TaskStatus) -> Int64
        ) async throws -> Double {
            let words = line.client + ["curl", "-s", "-f"] + arguments
            let before = count(try await service.api.task(id))
            let outcome = try await ChildProcess.run(words[0], Array(words.dropFirst()), within: .seconds(300))
            #expect(outcome.code == 0, "\(outcome)")
            let own = Double(count(try await service.api.task(id)) - before)
            return own / (own + Double(megabytes << 20))
        }

        /// Downloads with curl for some seconds, and returns the rate in bytes per second.
        private static func rate(on line: NarrowLine, seconds: Int) async throws -> Double {
            let words =
                line.client + ["curl", "-s", "-o", "/dev/null", "-m", "\(seconds)", "-w", "%{speed_download}", url]
            let outcome = try await ChildProcess.run(words[0], Array(words.dropFirst()))
            return Double(outcome.output) ?? 0
        }

        func end() async throws {
            try await service.stop()
            server.stop()
        }
    }

    @Test func `B9: A download with --yield leaves the line to another download, and says so`() async throws {
        let scene = try await Scene()
        var plain = 1.0
        for isYielding in [false, true] {
            let id = try await scene.service.get(Scene.url, yields: isYielding)
            try await scene.service.wait(id, for: "bytes") { ($0.countOfBytesReceived) > 4 << 20 }
            let share = try await scene.share(of: id, besideDownloadOf: isYielding ? 24 : 2)
            if isYielding {
                #expect(share < plain && share < 0.4, "\(share), \(plain) of a plain download")
                let other = try scene.traffic()
                try await eventually("the sentence") {
                    try await scene.service.cli(["why", "\(id)"]).output.contains("It yields to other traffic: ")
                }
                try await eventually("the note in the list") {
                    try await scene.service.cli(["list"]).output.contains("(yields to other traffic)")
                }
                try await eventually("the entry in the journal") {
                    let journal = try await scene.service.cli(["journal", "--task", "\(id)"]).output
                    return journal.contains("The transfer yields to other traffic.")
                }
                other.stop()
            } else {
                plain = share
                #expect(try await !scene.service.cli(["why", "\(id)"]).output.contains("yields"))
            }
            _ = try await scene.service.cli(["cancel", "\(id)"])
        }
        try await scene.end()
    }

    @Test func `B9: A download from a server without timestamps yields too`() async throws {
        let scene = try await Scene(hasTimestamps: false)
        let id = try await scene.service.get(Scene.url, yields: true)
        try await scene.service.wait(id, for: "bytes") { ($0.countOfBytesReceived) > 12 << 20 }
        let share = try await scene.share(of: id, besideDownloadOf: 24)
        #expect(share < 0.5, "\(share)")
        let why = try await scene.service.cli(["why", "\(id)"]).output
        #expect(why.contains("round trip about "), "\(why)")
        _ = try await scene.service.cli(["cancel", "\(id)"])
        try await scene.end()
    }

    @Test func `B9: An upload with --yield leaves the line to another upload`() async throws {
        let scene = try await Scene()
        let file = scene.documents.path("file")
        let (service, url) = (scene.service, "http://\(NarrowLine.serverAddress):8080/put/")
        #expect(try await service.cli(["put", "--detach", "--yield", file, url + "own"]).code == 0)
        let id = try #require(try await service.api.tasks().first?.id)
        try await service.wait(id, for: "bytes") { $0.countOfBytesSent > 4 << 20 }
        let part = try scene.documents.write("", to: "part")
        guard truncate(part, 24 << 20) == 0 else { throw SystemError("truncate") }
        let upload = ["-T", part, url + "other"]
        let share = try await scene.share(of: id, besideCurl: upload, 24) { $0.countOfBytesSent }
        #expect(share < 0.4, "\(share)")
        #expect(try await service.cli(["why", "\(id)"]).output.contains("It yields "))
        _ = try await service.cli(["cancel", "\(id)"])
        try await scene.end()
    }

    @Test func `B9: A running download yields from the change of its priority on`() async throws {
        let scene = try await Scene()
        let id = try await scene.service.get(Scene.url, yields: nil)
        try await scene.service.wait(id, for: "bytes") { ($0.countOfBytesReceived) > 4 << 20 }
        #expect(try await !scene.service.cli(["why", "\(id)"]).output.contains("yields"))
        #expect(try await scene.service.cli(["set", "\(id)", "--priority", "0.2"]).code == 0)
        try await eventually("the sentence") {
            try await scene.service.cli(["why", "\(id)"]).output.contains("It yields if there is other traffic: ")
        }
        #expect(try await scene.service.cli(["set", "\(id)", "--priority", "0.5"]).code == 0)
        try await eventually("no sentence") {
            try await !scene.service.cli(["why", "\(id)"]).output.contains("yields")
        }
        let limit = try await scene.service.cli(["limit", "--yield", "on"])
        #expect(limit.output.contains("all transfers"))
        try await eventually("the sentence again") {
            try await scene.service.cli(["why", "\(id)"]).output.contains("It yields if there is other traffic: ")
        }
        _ = try await scene.service.cli(["cancel", "\(id)"])
        try await scene.end()
    }
}

extension Service {
    /// Adds a download, and returns its id.
    fileprivate func get(_ url: String, yields: Bool?) async throws -> TaskID {
        var request = TaskRequest.download(url, to: scratch.path("to"), named: "\(UInt32.random(in: 0...99_999))")
        request.yields = yields
        return try await api.enqueue(request)
    }
}
