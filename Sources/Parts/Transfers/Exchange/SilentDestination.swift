import Foundation
import Mounts
import NightshiftAPI

extension TransferFailure {
    /// Returns the failure for a call to the file system that has not returned yet.
    static func silentDestination(_ silence: HangWatch.Silence, _ now: ClockReading) -> TransferFailure {
        let since = now.wallTime(ofBootSeconds: silence.since).formatted(.iso8601)
        return TransferFailure(
            .inputOutput,
            "\(silence.path) has not responded since \(since). The transfer continues when it responds. If its "
                + "server or device is gone, "
                + "unmount it or cancel the transfer.")
    }
}

extension Wait {
    /// The wait of a task whose file system does not respond.
    init(_ silence: HangWatch.Silence, _ now: ClockReading) {
        self.init(
            reason: .destinationSilent, since: now.wallTime(ofBootSeconds: silence.since),
            detail: TransferFailure.silentDestination(silence, now).message)
    }
}
