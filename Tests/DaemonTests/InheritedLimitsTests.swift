import Glibc
import Testing

@testable import Daemon

@Suite struct InheritedLimitsTests {
    @Test(arguments: [1 << 20, 500 << 20, (1 << 30) - 1] as [Int64])
    func `B1: A service with too little address space names the limit to raise`(bytes: Int64) throws {
        let objection = try #require(InheritedLimits(addressSpace: bytes).objection)
        #expect(objection.contains("ulimit -v") && objection.contains("\(bytes >> 20) MiB"))
    }

    @Test(arguments: [nil, 1 << 30, .max] as [Int64?])
    func `B1: A service with enough address space starts`(bytes: Int64?) {
        #expect(InheritedLimits(addressSpace: bytes).objection == nil)
    }

    @Test func `T2: The service writes a checkpoint on each signal that scripts and terminals send it`() {
        let signals = DaemonSignals.shutdown(ignoresHangups: false)
        for signal in [SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2] { #expect(signals.contains(signal)) }
        #expect(!DaemonSignals.shutdown(ignoresHangups: true).contains(SIGHUP), "nohup keeps it")
    }
}
