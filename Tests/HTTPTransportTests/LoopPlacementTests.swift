import Testing

@testable import HTTPTransport

@Suite struct LoopPlacementTests {
    @Test func `T4: secure exchanges at the same time are spread`() {
        var placement = LoopPlacement(loops: 3)
        let loops = (0..<6).map { _ in placement.begin(origin: "https://a", isSecure: true) }
        #expect(loops == [0, 1, 2, 0, 1, 2])
        placement.end(on: 1)
        #expect(placement.begin(origin: "https://b", isSecure: true) == 1)
    }

    @Test func `T4: one after the other stays where its connections are`() {
        var placement = LoopPlacement(loops: 3)
        let held = placement.begin(origin: "https://a", isSecure: true)
        for _ in 0..<5 {
            let loop = placement.begin(origin: "https://b", isSecure: true)
            #expect(loop == 1)
            placement.end(on: loop)
        }
        placement.end(on: held)
        #expect(placement.begin(origin: "https://b", isSecure: true) == 1)
    }

    @Test func `T4: what is not encrypted needs one thread`() {
        var placement = LoopPlacement(loops: 2)
        let loops = (0..<9).map { placement.begin(origin: "http://\($0)", isSecure: false) }
        #expect(Set(loops) == [0])
        #expect(placement.begin(origin: "https://a", isSecure: true) == 1)
    }

    @Test func `T6: it does not grow with the origins`() {
        var placement = LoopPlacement(loops: 1)
        for number in 0..<1_000 {
            placement.end(on: placement.begin(origin: "https://\(number)", isSecure: true))
        }
        #expect(placement.origins.map(\.count) == [LoopPlacement.maximumOrigins])
    }
}
