import NightshiftAPI
import Testing

/// Tests of the owner of a home directory, and of other users who could change it.
@Suite struct DirectoryFactsTests {
    private static let viewer = DirectoryFacts.Viewer(user: 1_000, privateGroup: 1_000)

    private static func facts(
        _ mode: UInt32, owner: UInt32 = 1_000, group: UInt32 = 1_000, hasAccessList: Bool = false
    ) -> DirectoryFacts {
        DirectoryFacts(path: "/home/a", owner: owner, group: group, mode: mode, hasAccessList: hasAccessList)
    }

    @Test(
        arguments: [
            (facts(0o700), nil), (facts(0o755), nil), (facts(0o775), nil), (facts(0o775, group: 50), "chmod 700"),
            (facts(0o702), "chmod 700"), (facts(0o1777), "chmod 700"), (facts(0o700, owner: 1_001), "chown 1000"),
            (facts(0o700, owner: 0), "chown 1000"),
            // With an access list, the group permissions are the upper limit for all users in the list.
            (facts(0o775, hasAccessList: true), "chmod 700"), (facts(0o755, hasAccessList: true), nil),
        ] as [(DirectoryFacts, String?)])
    func `A private directory belongs to you, and no other user can write to the directory`(
        facts: DirectoryFacts, remedy: String?
    ) {
        let flaw = facts.flaw(for: Self.viewer)
        #expect((flaw == nil) == (remedy == nil), "\(facts)")
        if let remedy { #expect(flaw?.remedy.contains(remedy) == true, "\(facts)") }
    }

    @Test(
        arguments: [
            (facts(0o755, owner: 0, group: 0), nil), (facts(0o1777, owner: 0, group: 0), nil),
            (facts(0o755), nil), (facts(0o777, owner: 0, group: 0), "chmod go-w"),
            (facts(0o770, group: 50), "chmod go-w"), (facts(0o755, owner: 1_001), "chown 1000"),
            (facts(0o775), nil), (facts(0o775, hasAccessList: true), "chmod go-w"),
            (facts(0o755, hasAccessList: true), nil), (facts(0o1775, hasAccessList: true), nil),
        ] as [(DirectoryFacts, String?)])
    func `A parent directory must not let other users replace the directory`(facts: DirectoryFacts, remedy: String?) {
        let flaw = facts.flaw(above: Self.facts(0o700), for: Self.viewer)
        #expect((flaw == nil) == (remedy == nil), "\(facts)")
        if let remedy { #expect(flaw?.remedy.contains(remedy) == true, "\(facts)") }
    }
}
