import NightshiftAPI
import Testing
import Transfers

/// Tests of the user's limits for the service.
@Suite struct ServiceLimitsTests {
    @Test(
        arguments: [
            (ServiceSettings(), "Rate limit: none. At most 32 transfers at once. Yield to other traffic: auto."),
            (
                ServiceSettings(rateLimit: 1_048_576, maximumTransfers: 1, yield: .on),
                "Rate limit: 1.0 MiB/s. At most 1 transfer at once. Yield to other traffic: on."
            ),
        ] as [(ServiceSettings, String)])
    func `The journal gets the limits after a change`(_ settings: ServiceSettings, _ sentence: String) {
        #expect(ServiceLimits(settings).sentence == sentence)
    }
}
