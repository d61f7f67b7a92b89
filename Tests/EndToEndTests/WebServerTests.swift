import Foundation
import NightshiftAPI
import TestSupport
import Testing

/// Tests of `nightshift` with real web servers.
@Suite struct WebServerTests {
    @Test("T5: put sends a file to nginx unchanged")
    func putToNginx() async throws {
        let (service, nginx) = (try Service(), try await WebServer.nginx())
        try await service.start()
        let content = Content.seeded(size: 5 << 20, seed: 2)
        let source = service.scratch.path("source")
        try TestContent.write(content, to: source)
        let put = try await service.cli(["put", source, nginx.url(WebServer.uploadPath + "there")])
        #expect(put.code == 0, "\(put)")
        #expect(try content.firstMismatch(inFileAt: nginx.documents + WebServer.uploadPath + "there") == nil)
        let refused = try await service.cli(["put", source, nginx.url("/not-here")])
        #expect(refused.code == 1, "\(refused)")
    }

    @Test("T2: get works over TLS and HTTP/2 with a custom certificate authority")
    func secureNginx() async throws {
        var options = WebServer.NginxOptions()
        let certificates = try await TestCertificates()
        options.certificates = certificates
        let (service, nginx) = (try Service(), try await WebServer.nginx(options))
        try await service.start()
        let content = Content.seeded(size: 5 << 20, seed: 3)
        try nginx.publish("f", content)
        let untrusted = try await service.cli(["get", nginx.url("/f"), "-o", "untrusted"])
        #expect(untrusted.code == 1, "\(untrusted)")
        let outcome = try await service.cli(["get", nginx.url("/f"), "-o", "f", "--cacert", certificates.authority])
        #expect(outcome.code == 0, "\(outcome)")
        #expect(try content.firstMismatch(inFileAt: service.scratch.path("f")) == nil)
        #expect(try await service.api.task(TaskID(2)).response?.httpVersion == "2")
    }

    @Test("T2: A download from nginx continues after a kill, byte for byte")
    func continuedNginx() async throws {
        var options = WebServer.NginxOptions()
        // The whole file takes forty seconds, so that even a late kill comes before the end.
        options.limitRate = 128 << 10
        let (service, nginx) = (try Service(), try await WebServer.nginx(options))
        try await service.start()
        let content = Content.seeded(size: 5 << 20, seed: 4)
        try nginx.publish("f", content)
        var request = TaskRequest.download(nginx.url("/f"), to: service.scratch.path("to"))
        request.connections = 1
        let id = try await service.api.enqueue(request)
        for mark in [Int64(256), 512, 768] {
            try await service.wait(id, for: "\(mark) KiB") { $0.countOfBytesReceived >= mark << 10 }
            // A slow disk may have none of the bytes yet, and then nothing can be continued.
            try await eventually("something is saved") { try await service.savedBytes(id) > 0 }
            try await service.kill()
            try await service.start()
        }
        let task = try await service.waitForEnd(id)
        #expect(task.response?.status == 206)
        #expect(task.restarts == 0)
        #expect(try content.firstMismatch(inFileAt: task.file ?? "") == nil)
    }

    @Test func `T4: The service decompresses a file that nginx compresses unasked, even after a kill`() async throws {
        var options = WebServer.NginxOptions()
        options.extra = "gzip_static always;"
        options.limitRate = 256 << 10
        let (service, nginx) = (try Service(), try await WebServer.nginx(options))
        try await service.start()
        // The content is hexadecimal digits of random bytes, which compress to half their size.
        let content = Content.seeded(size: 2 << 20, seed: 8)
        let text = nginx.documents + "/notes.txt"
        try TestContent.write(content, to: text + ".bytes")
        let script = """
            od -An -v -tx1 "$1.bytes" > "$1" && gzip -k "$1" && cat "$1" | sha256sum && cat "$1.gz" | sha256sum
            """
        let made = try await ChildProcess.run("/bin/sh", ["-c", script, "sh", text])
        #expect(made.code == 0, "\(made)")
        let sums = made.output.split(separator: "\n").map { String($0.prefix(64)) }
        let plain = try Data(contentsOf: URL(filePath: text))

        var request = TaskRequest.download(nginx.url("/notes.txt"), to: service.scratch.path("to"))
        request.checksum = Checksum(algorithm: .sha256, hex: sums[0])
        let id = try await service.api.enqueue(request)
        try await service.wait(id, for: "a part") { $0.countOfBytesReceived > 256 << 10 }
        try await service.kill()
        try await service.start()
        let task = try await service.waitForEnd(id)
        #expect(task.state == .completed && task.response?.remark == .decoded, "\(task)")
        #expect(task.verified == ["sha-256"])
        #expect(try Data(contentsOf: URL(filePath: task.file ?? "")) == plain)
        let names = try FileManager.default.contentsOfDirectory(atPath: service.scratch.path("to"))
        #expect(names == ["file"], "nothing else is left")

        // The checksum tells the service that the compressed file is meant.
        let coded = try await service.cli([
            "get", nginx.url("/notes.txt"), "-o", "coded", "--checksum", "sha-256:\(sums[1])",
        ])
        #expect(coded.code == 0, "\(coded)")
        let expected = try Data(contentsOf: URL(filePath: text + ".gz"))
        #expect(try Data(contentsOf: URL(filePath: service.scratch.path("coded"))) == expected)
    }

    @Test("T2: get sends Basic and Digest credentials to Apache")
    func apache() async throws {
        let (service, apache) = (try Service(), try await WebServer.apache())
        try await service.start()
        let content = Content.seeded(size: 1 << 20, seed: 5)
        try apache.publish("f", content)
        for path in [WebServer.basicPath, WebServer.digestPath] {
            let name = path.filter { $0 != "/" }
            let wrong = try await service.cli(["get", apache.url(path + "f"), "-o", "wrong", "--user", "night:day"])
            #expect(wrong.code == 1, "\(wrong)")
            #expect(wrong.errors.contains("401"), "\(wrong.errors)")
            let right = try await service.cli(["get", apache.url(path + "f"), "-o", name, "--user", "night:shift"])
            #expect(right.code == 0, "\(right)")
            #expect(try content.firstMismatch(inFileAt: service.scratch.path(name)) == nil)
        }
    }
}
