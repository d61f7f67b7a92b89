import Testing

@testable import HTTPTransport

@Suite struct LoopPlacementTests {
    private func request(_ origin: String, mayShare: Bool = true) -> LoopPlacement.Request {
        LoopPlacement.Request(origin: origin, isSecure: origin.hasPrefix("https:"), mayShare: mayShare)
    }

    @Test func `T4: Simultaneous secure exchanges are spread over the event loops`() {
        var placement = LoopPlacement(loops: 3)
        let loops = (0..<6).map { _ in placement.begin(request("https://a")) }
        #expect(loops == [0, 1, 2, 0, 1, 2])
        placement.end(request("https://a"), on: 1, bytes: nil)
        #expect(placement.begin(request("https://b")) == 1)
    }

    @Test func `T4: Successive exchanges stay on the event loop that has their connections`() {
        var placement = LoopPlacement(loops: 3)
        let held = placement.begin(request("https://a"))
        for _ in 0..<5 {
            let loop = placement.begin(request("https://b"))
            #expect(loop == 1)
            placement.end(request("https://b"), on: loop, bytes: nil)
        }
        placement.end(request("https://a"), on: held, bytes: nil)
        #expect(placement.begin(request("https://b")) == 1)
    }

    @Test func `B9: Exchanges that yield use the same thread`() {
        var placement = LoopPlacement(loops: 3)
        var yielding = request("https://a")
        yielding.yields = true
        let loops = (0..<4).map { _ in placement.begin(yielding) }
        #expect(Set(loops) == [2])
        #expect(placement.begin(request("https://a")) == 0)
    }

    @Test func `T4: Unencrypted exchanges use a single thread`() {
        var placement = LoopPlacement(loops: 2)
        let loops = (0..<9).map { placement.begin(request("http://\($0)")) }
        #expect(Set(loops) == [0])
        #expect(placement.begin(request("https://a")) == 1)
    }

    @Test func `T6: The placement table does not grow with the number of origins`() {
        var placement = LoopPlacement(loops: 1)
        for number in 0..<1_000 {
            let request = request("https://\(number)")
            placement.end(request, on: placement.begin(request), bytes: nil)
        }
        #expect(placement.origins.map(\.count) == [LoopPlacement.maximumOrigins])
    }

    @Test func `T6: Successive requests for small files share connections`() {
        var placement = LoopPlacement(loops: 2)
        let (small, alone) = (request("https://a"), request("https://a", mayShare: false))
        for _ in 0..<OriginHabits.habit {
            let loop = placement.begin(small)
            #expect(loop == 0)
            placement.end(small, on: loop, bytes: 1_000)
        }
        #expect(placement.begin(small) == LoopPlacement.sharing)
        #expect(placement.begin(alone) == 0)
        #expect(placement.begin(request("https://b")) == 1)
        placement.end(small, on: LoopPlacement.sharing, bytes: OriginHabits.smallBytes + 1)
        #expect(placement.begin(small) == 0)
    }

    @Test func `T6: Only responses over HTTP/2 lead to shared connections`() {
        var placement = LoopPlacement(loops: 1)
        for _ in 0..<100 { placement.end(request("https://a"), on: placement.begin(request("https://a")), bytes: nil) }
        #expect(placement.begin(request("https://a")) == 0)
    }
}

@Suite struct OriginHabitsTests {
    @Test func `T6: A large response ends the sharing of connections`() {
        var habits = OriginHabits()
        for _ in 0..<OriginHabits.habit { habits.record("a", bytes: OriginHabits.smallBytes) }
        #expect(habits.sendsSmallFiles("a"))
        habits.record("a", bytes: OriginHabits.smallBytes + 1)
        for _ in 1..<OriginHabits.habit { habits.record("a", bytes: 0) }
        #expect(!habits.sendsSmallFiles("a"))
        habits.record("a", bytes: 0)
        #expect(habits.sendsSmallFiles("a"))
    }

    @Test func `T6: The record of response sizes is bounded for any number of origins`() {
        var habits = OriginHabits()
        for number in 0..<1_000 { habits.record("\(number)", bytes: 1) }
        #expect(habits.runs.count == OriginHabits.maximumOrigins)
    }
}
