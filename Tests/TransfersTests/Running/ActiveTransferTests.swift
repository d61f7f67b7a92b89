import NightshiftAPI
import TestSupport
import Testing

@testable import Transfers

/// Tests of the progress that a transfer with a connection reports.
@Suite struct ActiveTransferTests {
    /// A test in which the transport's thread writes bytes before the service has processed their response.
    @Test func `T4: Received bytes are reported together with the expected number`() throws {
        let directory = try TemporaryDirectory()
        let receiver = DownloadReceiver(
            DownloadReceiver.Inputs(
                plan: ExchangePlan(partial: nil), policy: lenient, freshPath: directory.path("f"), bootID: "b",
                wallSeconds: someTime)
        ) { _, _ in }
        let transfer = ActiveTransfer(TransferRun(record: TaskMachineTests.record(), startedAt: 0))
        transfer.run.admitted(TaskMachineTests.start)
        transfer.exchange = .download(receiver, NoHandle())
        _ = receiver.exchange(received: head(200, ["Content-Length": "1000"]))
        receiver.position.value = 400
        let early = transfer.progress()
        #expect(early.countOfBytesReceived == 0 && early.countOfBytesExpectedToReceive == -1)
        transfer.run.accept(try #require(receiver.reception?.accepted), TaskMachineTests.start)
        let told = transfer.progress()
        #expect(told.countOfBytesReceived == 400 && told.countOfBytesExpectedToReceive == 1_000)
    }

    private struct NoHandle: ExchangeHandle {
        func cancel() {}
        func setRateLimit(_ bytesPerSecond: Int64?) {}
        func resumeWriting() {}
    }
}
