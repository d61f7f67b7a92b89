import Device
import Foundation
import Logging
import NightshiftAPI
import Store
import TestSupport
import Transfers

/// A service with a database of its own and no network: what is enqueued waits.
struct TestService: Sendable {
    let directory: TemporaryDirectory
    let service: TransferService
}

func makeService() throws -> TestService {
    let directory = try TemporaryDirectory()
    let home = URL(filePath: directory.path, directoryHint: .isDirectory)
    let paths = ServicePaths(
        state: home.appending(path: "state", directoryHint: .isDirectory), runtime: home, configuration: home)
    for path in [paths.state, paths.partials, paths.files] {
        try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
    }
    let clock = SystemClock()
    let environment = TransferService.Environment(
        paths: paths, store: try Store(paths: paths, now: clock.now()), transport: NoTransport(), clock: clock,
        network: TransferService.NetworkFeed(isAvailable: { false }, changes: AsyncStream { _ in }),
        random: { 0.5 }, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    return TestService(directory: directory, service: TransferService(environment))
}

/// Without a network nothing is ever begun.
private struct NoTransport: Transport {
    struct NoExchange: ExchangeHandle {
        func cancel() {}
        func setRateLimit(_ bytesPerSecond: Int64?) {}
        func resumeWriting() {}
    }

    func begin(_ request: WireRequest, receiver: any ExchangeReceiver) -> any ExchangeHandle { NoExchange() }
    func setRateLimit(_ bytesPerSecond: Int64?) {}
    func forgetConnections() {}
}
