import NightshiftAPI

/// Decides which source of places is asked for what, and what is told.
///
/// Pure. Times are seconds of CLOCK_BOOTTIME.
struct LocationMachine {
    enum Action: Equatable {
        case tell(FixUpdate)
    }

    private var word: PlaceWord?
    private var told: FixUpdate?

    init(word: PlaceWord?) {
        self.word = word
    }

    mutating func begin(now: Double) -> [Action] {
        sourcesIfNew() + fix(now: now)
    }

    mutating func want(_ wish: FixWish, now: Double) -> [Action] {
        wish.fix == nil ? [] : fix(now: now) + [.tell(.receiver(seconds: 0))]
    }

    mutating func setPlace(_ word: PlaceWord?, now: Double) -> [Action] {
        guard word != self.word else { return [] }
        self.word = word
        return sourcesIfNew() + fix(now: now)
    }

    private func fix(now: Double) -> [Action] {
        guard case .place(let place)? = word,
            let fix = Fix(place: place.place, accuracy: place.accuracy, time: now)
        else { return [] }
        return [.tell(.fix(fix, source: "override"))]
    }

    private mutating func sourcesIfNew() -> [Action] {
        let isSet = if case .place? = word { true } else { false }
        let update = FixUpdate.sources(
            isSet
                ? [
                    LocationStatus.SourceStatus(
                        name: "override", isAvailable: true,
                        sentence: "A place is set by hand; `nightshift device unset location` takes it away.")
                ] : [], canMonitorRegions: isSet, canMonitorSignificantChanges: isSet)
        guard update != told else { return [] }
        told = update
        return [.tell(update)]
    }
}
