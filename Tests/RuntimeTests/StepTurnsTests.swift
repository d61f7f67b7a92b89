import Testing

@testable import Runtime

/// Tests of many concurrent steps or one exclusive step, in the order of arrival.
@Suite struct StepTurnsTests {
    /// An owner of steps, like the actors of the service.
    private actor Owner {
        private var turns = StepTurns()
        private(set) var begun: [String] = []

        var areUnderWay: Bool { turns.areUnderWay }

        func begin(_ name: String, alone: Bool = false) async {
            if !turns.begin(alone: alone) { await withCheckedContinuation { turns.add($0, alone: alone) } }
            begun.append(name)
        }

        func end() { turns.end() }
    }

    @Test func `Steps may overlap each other, but not an exclusive step`() {
        var turns = StepTurns()
        var begun: [Bool] = []
        func begin(alone: Bool) { begun.append(turns.begin(alone: alone)) }
        begin(alone: false)
        begin(alone: false)
        begin(alone: true)
        turns.end()
        begin(alone: true)
        #expect(begun == [true, true, false, false] && turns.areUnderWay)
        turns.end()
        #expect(!turns.areUnderWay)
        begun = []
        begin(alone: true)
        begin(alone: false)
        begin(alone: true)
        turns.end()
        begin(alone: false)
        #expect(begun == [true, false, false, true])
    }

    @Test func `The owner runs waiting steps in the order of their requests`() async {
        let owner = Owner()
        await owner.begin("a")
        async let alone: Void = owner.begin("b", alone: true)
        await owner.end()
        await alone
        async let last: Void = owner.begin("c")
        #expect(await owner.areUnderWay)
        await owner.end()
        await last
        await owner.end()
        #expect(await owner.begun == ["a", "b", "c"])
        #expect(await !owner.areUnderWay)
    }
}
