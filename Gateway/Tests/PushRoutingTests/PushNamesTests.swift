import PushProtocol
import PushRouting
import Testing

@Suite struct PushNamesTests {
    static let (push, device) = (PushID(high: 1, low: 1), DeviceID(high: 2, low: 2))

    @Test func `R5: A device accepts an id for one payload only`() {
        var names = PushNames(limit: 10)
        #expect(names.take(Self.push, device: Self.device, payload: [1]) == true)
        // The push is a repetition, as if the first response had been lost.
        #expect(names.take(Self.push, device: Self.device, payload: [1]) == true)
        #expect(names.take(Self.push, device: Self.device, payload: [2]) == false)
        // Some providers send one id to many devices.
        #expect(names.take(Self.push, device: DeviceID(high: 3, low: 3), payload: [2]) == true)
    }

    @Test func `R5: A refused push leaves its id free`() {
        var names = PushNames(limit: 10)
        #expect(names.take(Self.push, device: Self.device, payload: [1]) == true)
        names.forget(Self.push, device: Self.device)
        #expect(names.take(Self.push, device: Self.device, payload: [2]) == true)
    }

    @Test func `R5: The gateway forgets the oldest ids of pushes first`() {
        var names = PushNames(limit: 10)
        for number in 0..<100 as Range<UInt64> {
            #expect(names.take(PushID(high: 1, low: number), device: Self.device, payload: [1]) == true)
            for recent in (number < 10 ? 0 : number - 9)...number {
                #expect(names.take(PushID(high: 1, low: recent), device: Self.device, payload: [2]) == false)
            }
        }
        #expect(names.take(PushID(high: 1, low: 0), device: Self.device, payload: [2]) == true)
    }
}
