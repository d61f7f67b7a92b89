import Foundation
import HTTPTransport
import NightshiftAPI
import TestSupport
import Transfers

/// A receiver that answers an exchange as its test requires and records the events.
final class Receiver: ExchangeReceiver {
    private let dispose: @Sendable (ResponseHead) -> BodyDisposition
    private let interim: @Sendable (ResponseHead) -> InterimDisposition
    private let heard = Watched(Heard())

    private struct Heard: Sendable {
        var interim: [ResponseHead] = []
        var heads: [ResponseHead] = []
        var ends: [ExchangeEnd] = []
    }

    init(
        _ dispose: @escaping @Sendable (ResponseHead) -> BodyDisposition = { _ in .memory(limit: 1 << 30) },
        interim: @escaping @Sendable (ResponseHead) -> InterimDisposition = { _ in .proceed }
    ) {
        self.dispose = dispose
        self.interim = interim
    }

    func exchange(receivedInterim head: ResponseHead) -> InterimDisposition {
        heard.update { $0.interim.append(head) }
        return interim(head)
    }

    func exchange(received head: ResponseHead) -> BodyDisposition {
        heard.update { $0.heads.append(head) }
        return dispose(head)
    }

    func exchangeEnded(_ end: ExchangeEnd) {
        heard.update { $0.ends.append(end) }
    }

    var interimHeads: [ResponseHead] { heard.read(\.interim) }

    var heads: [ResponseHead] { heard.read(\.heads) }

    var ends: [ExchangeEnd] { heard.read(\.ends) }

    func end(within bound: Duration = .seconds(30)) async throws -> ExchangeEnd {
        try await heard.wait(within: bound, for: "the exchange's end") { !$0.ends.isEmpty }
        return heard.read { $0.ends[0] }
    }

    func head(within bound: Duration = .seconds(30)) async throws {
        try await heard.wait(within: bound, for: "the response's head") { !$0.heads.isEmpty }
    }
}

/// A file that a download writes or an upload reads. It is removed with this object.
final class TestFile: Sendable {
    let descriptor: Int32
    let path: String
    let position: ByteMeter
    let ceiling: ByteMeter
    private let directory: TemporaryDirectory

    init(ceiling: Int64 = .max) throws {
        directory = try TemporaryDirectory()
        path = directory.path("file")
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemError("open \(path)") }
        position = ByteMeter()
        self.ceiling = ByteMeter(ceiling)
    }

    convenience init(_ content: SeededContent) throws {
        try self.init()
        let bytes = content.bytes(0..<content.size)
        guard write(descriptor, bytes, bytes.count) == bytes.count else { throw SystemError("write") }
    }

    deinit {
        close(descriptor)
    }

    func sink(offset: Int64 = 0, length: Int64? = nil) -> FileSink {
        position.value = offset
        return FileSink(
            descriptor: descriptor, offset: offset, length: length, position: position, ceiling: ceiling,
            end: ByteMeter(.max))
    }

    func matches(_ content: SeededContent) throws -> Bool {
        try content.firstMismatch(inFileAt: path) == nil
    }
}

/// A transport that ends with its test.
final class TestTransport: Sendable {
    let transport = CurlTransport()

    deinit {
        transport.shutdown()
    }

    func begin(_ request: WireRequest, _ receiver: Receiver) -> any ExchangeHandle {
        transport.begin(request, receiver: receiver)
    }

    func end(_ request: WireRequest, _ receiver: Receiver = Receiver()) async throws -> ExchangeEnd {
        _ = begin(request, receiver)
        return try await receiver.end()
    }
}

extension WireRequest {
    /// A request that uses no proxy from the environment.
    static func direct(
        _ url: String, method: String = "GET", headers: [HeaderField] = [], idle: Double = 600,
        certificates: TestCertificates? = nil
    ) -> WireRequest {
        var request = WireRequest(url: url, method: method, headers: headers, idleTimeout: idle)
        request.proxy = ""
        request.tls = certificates.map { TLSSettings(certificateAuthority: $0.authority) }
        return request
    }

    func sending(_ file: TestFile, size: Int64) -> WireRequest {
        var request = self
        request.body = UploadBody(
            [.file(descriptor: file.descriptor, offset: 0, size: size)], meter: ByteMeter())
        return request
    }

    func with(_ change: (inout WireRequest) -> Void) -> WireRequest {
        var request = self
        change(&request)
        return request
    }
}

extension BodyDisposition {
    /// Returns a disposition that keeps the body in memory up to the limit, without a file.
    static func memory(limit: Int) -> BodyDisposition {
        .memory(limit: limit) { .failure(TransferFailure(.tooLarge, "More than \(limit) bytes came.")) }
    }
}

extension ExchangeEnd {
    var failure: TransferFailure? {
        if case .failed(let failure) = outcome { failure } else { nil }
    }
}
