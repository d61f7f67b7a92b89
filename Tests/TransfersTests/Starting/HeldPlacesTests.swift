import Testing

@testable import Transfers

/// Tests of the explanation for a task that waits for a connection slot of the service.
@Suite struct HeldPlacesTests {
    @Test func `T4: A waiting task names the hosts of the running transfers, and how many are slow`() {
        #expect(HeldPlaces([]).sentence == "0 transfers run.")
        #expect(
            HeldPlaces([("http://a", true)]).sentence
                == "1 transfer runs: 1 of http://a. It receives almost no bytes.")
        let many = (0..<9).map { (origin: "http://\($0 / 2)", isSlow: $0 < 3) }
        #expect(
            HeldPlaces(many).sentence
                == "9 transfers run: 2 of http://0, 2 of http://1, 2 of http://2, 3 of 2 other hosts. 3 of them "
                + "receive almost no bytes."
        )
        #expect(HeldPlaces([("http://a", false), ("http://b", false)]).sentence.hasSuffix("1 of http://b."))
    }
}
