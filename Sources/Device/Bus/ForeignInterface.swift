/// Whether the default route leads through an interface that NetworkManager leaves to others.
///
/// Of such an interface it says nothing: it calls a machine disconnected whose network ifupdown or systemd-networkd has set
/// up. Pure: it is told what there is and says what to ask.
struct ForeignInterface {
    /// The interface that the question is about.
    private(set) var name: String?
    private(set) var isForeign = false
    /// NetworkManager may say something else of the interface by now. What it said counts until it has.
    var isOutOfDate = false
    private var number = 0

    /// NM_DEVICE_STATE_UNMANAGED.
    private static let unmanaged: Int64 = 10

    /// Returns the question to ask where NetworkManager knows of no network and yet there is a route.
    mutating func check(_ interface: String?, isDisconnected: Bool) -> BusRequest? {
        guard let interface, isDisconnected else {
            forget()
            return nil
        }
        guard interface != name || isOutOfDate else { return nil }
        if interface != name { forget() }
        isOutOfDate = false
        name = interface
        number += 1
        return .device(interface: interface, number: number)
    }

    mutating func found(number: Int, path: String?) -> BusRequest? {
        guard name != nil, number == self.number else { return nil }
        guard let path else {
            isForeign = false
            return nil
        }
        return .deviceState(path: path, number: number)
    }

    mutating func stateAnswered(number: Int, state: Int64?) {
        guard name != nil, number == self.number else { return }
        isForeign = state == Self.unmanaged
    }

    mutating func forget() {
        name = nil
        isForeign = false
    }
}
