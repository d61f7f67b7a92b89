import NightshiftAPI
import Testing

@testable import Transfers

/// Tests of the explanation of a running transfer.
@Suite struct RunningTransferTextTests {
    @Test(
        arguments: [
            (nil, nil, 1, "It is running."),
            (nil, 1_048_576, 1, "It is running, limited to 1.0 MiB/s by 'nightshift limit'."),
            (nil, 300, 2, "It is running, limited to 300 B/s together with 1 other transfer by 'nightshift limit'."),
            (nil, 300, 4, "It is running, limited to 300 B/s together with 3 other transfers by 'nightshift limit'."),
            (2_048, nil, 3, "It is running, limited to 2.0 KiB/s by its own limit (--limit-rate)."),
            (2_048, 1_048_576, 3, "It is running, limited to 2.0 KiB/s by its own limit (--limit-rate)."),
            (2_048, 4_096, 1, "It is running, limited to 2.0 KiB/s by its own limit (--limit-rate)."),
            (1_048_576, 2_048, 1, "It is running, limited to 2.0 KiB/s by 'nightshift limit'."),
        ] as [(Int64?, Int64?, Int, String)])
    func `The explanation of a running transfer names the limit that binds it`(
        own: Int64?, service: Int64?, running: Int, sentence: String
    ) {
        #expect(RunningTransferText(ownLimit: own, serviceLimit: service, running: running).sentence == sentence)
    }

    @Test(
        arguments: [
            (0, "It is running."), (0.99, "It is running."),
            (
                1,
                "It is running. The transfer received fewer than 512 bytes per second for 1 s, so the service may start "
                    + "transfers from other hosts in addition."
            ),
        ] as [(Double, String)])
    func `A transfer is called slow after a whole second`(seconds: Double, sentence: String) {
        let slowness = RunningTransferText.Slowness(seconds: seconds, minimum: 511.2)
        #expect(RunningTransferText(slowness: slowness).sentence == sentence)
    }

    @Test(
        arguments: [
            (
                0.058, true,
                "It is running. It yields to other traffic: 1.4 MiB/s of 11.0 MiB/s, round trip 58 ms, target 40 ms."
            ),
            (
                0.012, false,
                "It is running. It yields if there is other traffic: 1.4 MiB/s of 11.0 MiB/s, round trip 12 ms, "
                    + "target 40 ms."
            ),
            (
                0.1, true,
                "It is running. It yields to other traffic: 1.4 MiB/s of 11.0 MiB/s, round trip about 100 ms, target 40 ms."
            ),
        ] as [(Double, Bool, String)])
    func `B9: A transfer that yields shows its share of the line and the delay`(
        roundTrip: Double, isYielding: Bool, sentence: String
    ) {
        let state = YieldStatus(
            bytesPerSecond: 1.4 * 1_048_576, capacity: 11 * 1_048_576, roundTrip: roundTrip, target: 0.04,
            isEstimate: roundTrip == 0.1,
            isYielding: isYielding)
        #expect(RunningTransferText(yielding: state).sentence == sentence)
    }

    @Test func `The sentence about a slow transfer has the rate and the time`() {
        #expect(
            RunningTransferText.Slowness(seconds: 10.9, minimum: 512).sentence
                == "The transfer received fewer than 512 bytes per second for 10 s.")
    }
}
