import Apps
import NightshiftAPI
import Testing

@Suite struct BackgroundTermsTests {
    @Test(
        arguments: [
            (nil, nil, .opportunistic, .device), (nil, .brief, .brief, .manifest),
            (.contiguous, nil, .contiguous, .app), (.contiguous, .brief, .contiguous, .app),
        ] as [(BackgroundPolicy?, BackgroundPolicy?, BackgroundPolicy, BackgroundStatus.PolicySource)])
    func `The user's policy overrides the entry's policy, which overrides the device's`(
        user: BackgroundPolicy?, manifest: BackgroundPolicy?, policy: BackgroundPolicy,
        source: BackgroundStatus.PolicySource
    ) {
        let terms = BackgroundTerms(user: user, manifest: manifest, device: .opportunistic, lead: 7)
        #expect(terms == BackgroundTerms(policy: policy, source: source, lead: 7))
    }
}
