import NightshiftAPI

/// What ModemManager says of a modem and of its interface `Modem.Location`; nil where it does not say.
struct ModemReading: Equatable, Sendable {
    /// MMModemState: how far the modem has been switched on.
    var state: Int32?
    /// MMModemLocationSource: what it can tell, and what it is set up to tell.
    var capabilities: UInt32?
    var enabled: UInt32?
    /// Whether its changes are announced.
    var signals: Bool?
    /// The text of the source that knows the cell: `MCC,MNC,LAC,CI,TAC`.
    var cell: String?

    /// MM_MODEM_LOCATION_SOURCE_3GPP_LAC_CI.
    static let cells: UInt32 = 1
    /// MM_MODEM_STATE_ENABLED. Below it ModemManager sets up no location, and sources that were set up are off.
    static let enabledState: Int32 = 6
}

/// The cell that a modem is in, by its identity.
enum CellIdentity {
    /// Nil for what names no cell: the modem is in none, or the text is no identity.
    static func checked(_ text: String) -> String? {
        guard text.utf8.count <= 64 else { return nil }
        let fields = text.split(separator: ",", omittingEmptySubsequences: false)
        // ModemManager before 1.14 has no TAC.
        guard (4...5).contains(fields.count), fields.allSatisfy({ $0.utf8.allSatisfy(isHexadecimal) }),
            let country = Int(fields[0]), country > 0, !fields[1].isEmpty, fields[1].utf8.allSatisfy(isDecimal)
        else { return nil }
        // The cell's own number, and an area that it is in.
        guard let cell = UInt64(fields[3], radix: 16), cell > 0 else { return nil }
        return text.uppercased()
    }

    private static func isDecimal(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        isDecimal(byte) || (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}

/// Follows the modems that know their cell, and has them announce it for as long as that is wanted.
///
/// Pure: what the bus says goes in, what to ask of it comes out.
struct ModemWatch: Equatable {
    private struct Modem: Equatable {
        /// How far it has been set up, since it was switched on.
        enum Step: Equatable {
            case open
            /// The question is under way; `before` is what it was set up to when it was asked.
            case asked(number: Int, before: ModemReading)
            /// It was not switched on when it was asked. Its state tells when to ask again.
            case tooEarly
            case done
        }

        /// Somebody's no, and until when it is not questioned.
        struct Refusal: Equatable {
            var failure: BusFailure
            var until: Double
        }

        var reading: ModemReading
        /// What it was set up to before this has changed it.
        var former: ModemReading?
        var step = Step.open
        var refusal: Refusal?

        var isAble: Bool {
            (reading.capabilities ?? 0) & ModemReading.cells != 0
                && reading.state.map { $0 >= ModemReading.enabledState } != false
        }
        var tellsCells: Bool { (reading.enabled ?? 0) & ModemReading.cells != 0 && reading.signals == true }
        /// Whether it tells its cell, or is about to be set up to, as far as is known.
        var canTellCells: Bool {
            guard isAble else { return false }
            if tellsCells { return true }
            guard refusal == nil else { return false }
            switch step {
            case .open, .asked: return true
            case .tooEarly, .done: return false
            }
        }

        /// What it was set up to when the question was asked that is under way.
        var before: ModemReading? { if case .asked(_, let before) = step { before } else { nil } }

        /// Whether it is to be set up, at once or when its refusal ends. Once in each time that it is on: who takes it back has
        /// his reasons.
        var isToBeSetUp: Bool { isAble && !tellsCells && step == .open }

        mutating func note(_ reading: ModemReading, hasNewState: Bool) {
            self.reading = reading
            guard hasNewState else { return }
            switch step {
            case .open, .asked: break
            case .tooEarly: step = .open
            case .done: if !isAble { step = .open }
            }
        }
    }

    /// Modems by the paths of their objects; nil until they have been told.
    private var modems: [String: Modem]?
    private var isWanted = false
    private var numbers = 0
    private var question: Int?
    private var isOutOfDate = false
    /// Why they cannot be had.
    private(set) var failure: BusFailure?

    /// Devices have one or two. More are not looked at.
    static let most = 16

    var isKnown: Bool { modems != nil || failure != nil }
    var hasModem: Bool { modems?.isEmpty == false }
    /// Whether some modem tells its cell, or would, as far as is known.
    var canTellCells: Bool { modems?.values.contains { $0.canTellCells } == true }
    /// Why none does that could.
    var refusal: BusFailure? { modems?.sorted { $0.key < $1.key }.compactMap(\.value.refusal?.failure).first }
    /// When one that has refused is asked again.
    var deadline: Double? {
        guard isWanted else { return nil }
        return modems?.values.filter(\.isToBeSetUp).compactMap(\.refusal?.until).min()
    }

    /// The cell; that of the first modem that is in one.
    var cell: String? {
        guard isWanted, let modems else { return nil }
        return modems.sorted { $0.key < $1.key }.lazy
            .filter { $0.value.tellsCells }
            .compactMap { $0.value.reading.cell.flatMap(CellIdentity.checked) }.first
    }

    // MARK: - Inputs

    /// ModemManager has come.
    mutating func appeared() -> [LocationBusRequest] {
        gone()
        return ask()
    }

    /// It is gone, and what is known of its modems with it.
    mutating func gone() {
        modems = nil
        failure = nil
        question = nil
        isOutOfDate = false
    }

    /// Says what is wanted now. To be called again behind every other input, and when ``deadline`` has come.
    mutating func want(_ isWanted: Bool, now: Double) -> [LocationBusRequest] {
        let wasWanted = self.isWanted
        self.isWanted = isWanted
        if isWanted { return setUp(now: now) }
        return wasWanted ? restore() : []
    }

    mutating func answered(
        number: Int, _ result: Result<[String: ModemReading], BusFailure>
    ) -> [LocationBusRequest] {
        guard question == number else { return [] }
        question = nil
        if isOutOfDate {
            isOutOfDate = false
            return ask()
        }
        switch result {
        case .failure(let failure): self.failure = failure
        case .success(let readings):
            failure = nil
            let former = modems ?? [:]
            modems = [:]
            for (path, reading) in readings.sorted(by: { $0.key < $1.key }).prefix(Self.most) {
                var modem = former[path] ?? Modem(reading: reading)
                modem.note(reading, hasNewState: reading.state != modem.reading.state)
                modems?[path] = modem
            }
        }
        return []
    }

    mutating func changed(path: String, _ change: ModemReading) {
        guard var reading = modems?[path]?.reading else { return }
        reading.state = change.state ?? reading.state
        reading.capabilities = change.capabilities ?? reading.capabilities
        reading.enabled = change.enabled ?? reading.enabled
        reading.signals = change.signals ?? reading.signals
        reading.cell = change.cell ?? reading.cell
        modems?[path]?.note(reading, hasNewState: change.state != nil)
    }

    /// Modems have come or gone.
    mutating func modemsChanged() -> [LocationBusRequest] {
        guard question == nil else {
            isOutOfDate = true
            return []
        }
        return ask()
    }

    mutating func setUpAnswered(path: String, number: Int, _ failure: BusFailure?, now: Double) {
        guard var modem = modems?[path], case .asked(number, let before) = modem.step else { return }
        if let failure {
            modem.step = failure.isTooEarly ? .tooEarly : .open
            modem.refusal =
                failure.isTooEarly ? nil : Modem.Refusal(failure: failure, until: now + GeoClueClient.afterRefusal)
        } else {
            // One that was switched off since has to be set up again.
            modem.step = modem.isAble ? .done : .open
            modem.refusal = nil
            modem.former = modem.former ?? before
            if modem.isAble {
                // Announced as well, before or after.
                modem.reading.enabled = (modem.reading.enabled ?? 0) | ModemReading.cells
                modem.reading.signals = true
            }
        }
        modems?[path] = modem
    }

    // MARK: - Steps

    private mutating func ask() -> [LocationBusRequest] {
        numbers += 1
        question = numbers
        return [.modems(number: numbers)]
    }

    /// Has every modem announce its cell that can and does not.
    private mutating func setUp(now: Double) -> [LocationBusRequest] {
        var requests: [LocationBusRequest] = []
        for (path, modem) in (modems ?? [:]).sorted(by: { $0.key < $1.key }) {
            guard modem.isToBeSetUp else { continue }
            if let refusal = modem.refusal, refusal.until > now { continue }
            numbers += 1
            modems?[path]?.step = .asked(number: numbers, before: modem.reading)
            requests.append(
                .setUp(
                    path: path, sources: (modem.reading.enabled ?? 0) | ModemReading.cells, signals: true,
                    number: numbers))
        }
        return requests
    }

    /// Has them do what they did before.
    private mutating func restore() -> [LocationBusRequest] {
        var requests: [LocationBusRequest] = []
        for (path, modem) in (modems ?? [:]).sorted(by: { $0.key < $1.key }) {
            modems?[path]?.former = nil
            modems?[path]?.step = .open
            modems?[path]?.refusal = nil
            guard let former = modem.former ?? modem.before else { continue }
            numbers += 1
            modems?[path]?.reading.enabled = former.enabled
            modems?[path]?.reading.signals = former.signals
            requests.append(
                .setUp(
                    path: path, sources: former.enabled ?? 0, signals: former.signals ?? false, number: numbers))
        }
        return requests
    }
}

extension BusFailure {
    /// Whether ModemManager has not switched the modem on yet, or not any more.
    fileprivate var isTooEarly: Bool { text.contains("Error.Core.WrongState") }
}
