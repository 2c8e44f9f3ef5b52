//! Names that the bank draws: aliases of three short Spanish words, easy to say, and
//! the rail's ids.

use std::ops::RangeInclusive;

use aws_lc_rs::rand;

/// Words of 3 to 6 ASCII letters: three of them and two dots are never longer than an alias.
pub(super) const WORDS: [&str; 256] = [
    "ABEJA", "ABRIGO", "ACERO", "AJO", "ALAMO", "ALBA", "ALMA", "ALTAR", "AMBAR", "AMOR", "ANANA",
    "ANCLA", "APIO", "ARBOL", "ARCO", "ARPA", "ARROZ", "ASTRO", "ATUN", "AVENA", "AVES", "AZUL",
    "BAHIA", "BALSA", "BARCA", "BARCO", "BARRO", "BOSQUE", "BOTA", "BOTIN", "BRASA", "BRAZO",
    "BRONCE", "BROTE", "BRUJO", "BUHO", "BURRO", "BUZO", "CACAO", "CACTUS", "CAFE", "CALLE",
    "CALMA", "CAMA", "CAMPO", "CANAL", "CANOA", "CAOBA", "CARDO", "CARPA", "CARTA", "CASA",
    "CEBRA", "CEIBO", "CENA", "CERRO", "CHARCO", "CIELO", "CINE", "CIRCO", "CISNE", "CLAVEL",
    "COBRE", "COFRE", "COMETA", "COPA", "CORAL", "CORRAL", "COSTA", "CREMA", "CUARTO", "CUENTO",
    "CUERDA", "CUMBRE", "DADO", "DANZA", "DELTA", "DIBUJO", "DISCO", "DUNA", "ECO", "ENERO",
    "ERIZO", "ESPIGA", "ESTUFA", "FIDEO", "FIESTA", "FLAUTA", "FLOR", "FOCA", "FOGATA", "FRESA",
    "FRUTA", "FUEGO", "GALGO", "GALLO", "GARZA", "GATO", "GAUCHO", "GOLFO", "GOTA", "GRANO",
    "GRULLA", "GUANTE", "GUINDA", "GUSANO", "HACHA", "HALCON", "HIERBA", "HIGO", "HOJA", "HOTEL",
    "HUERTA", "HUESO", "IGLU", "IMAN", "INDIGO", "JABALI", "JARDIN", "JARRA", "JINETE", "JOYA",
    "JUEGO", "JUNCO", "KIWI", "KOALA", "LANA", "LAPIZ", "LECHE", "LENTE", "LEON", "LIMA", "LIMON",
    "LINCE", "LLAMA", "LLAVE", "LLUVIA", "LOMA", "LORO", "LUCERO", "LUPA", "MADERA", "MAIZ",
    "MANGA", "MANGO", "MANO", "MAPA", "MAREA", "MARFIL", "MATE", "MELON", "MENTA", "METAL", "MIEL",
    "MIRLO", "MONO", "MONTE", "MORSA", "MOTOR", "MUELLE", "MUSGO", "NAIPE", "NARDO", "NIDO",
    "NIEVE", "NOGAL", "NOTA", "NUBE", "NUEZ", "OBRA", "OCASO", "OLIVA", "ONDA", "OPALO", "OREJA",
    "OSEZNO", "OSO", "OSTRA", "OVEJA", "PAGINA", "PAJA", "PALTA", "PAN", "PANDA", "PAPEL",
    "PARQUE", "PASTO", "PATO", "PEINE", "PERA", "PERRO", "PIANO", "PINO", "PINON", "PLUMA",
    "POLEN", "POMELO", "PONCHO", "PRADO", "PUERTA", "PUMA", "QUINTA", "RAMA", "RANA", "RED",
    "RELOJ", "REMO", "RISA", "ROBLE", "ROCA", "RUEDA", "RUTA", "SABOR", "SALSA", "SAPO", "SAUCE",
    "SENDA", "SIERRA", "SILLA", "SOPA", "SUELO", "SURCO", "TALCO", "TAMBOR", "TAZA", "TECHO",
    "TEJADO", "TERO", "TIGRE", "TILO", "TINA", "TINTA", "TIZA", "TORO", "TORRE", "TREBOL", "TRIGO",
    "TRINEO", "TRONCO", "TUNDRA", "UVA", "VACA", "VAPOR", "VASO", "VELA", "VERDE", "VIENTO",
    "VIOLA", "VOLCAN", "YATE", "YEMA", "YOGUR", "YUNQUE", "ZANJA", "ZORRO", "ZORZAL",
];

/// The characters of the rail's ids.
const LETTERS: &[u8; 36] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// Whether a text is so many capital letters and digits.
pub(super) fn is_code(text: &str, lengths: RangeInclusive<usize>) -> bool {
    let good = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit();
    lengths.contains(&text.len()) && text.bytes().all(good)
}

/// A random id like those of the rail, 22 letters and digits; `None` if the machine has no randomness.
pub(super) fn rail_id() -> Option<String> {
    let mut chance = [0_u8; 22];
    rand::fill(&mut chance).ok()?;
    let letter = |byte: &u8| LETTERS.get(usize::from(byte % 36)).copied().map(char::from);
    chance.iter().map(letter).collect()
}

/// Three random words; `None` if the machine has no randomness.
pub(super) fn three_words() -> Option<String> {
    // One byte names one of 256 words, evenly.
    let mut chance = [0_u8; 3];
    rand::fill(&mut chance).ok()?;
    let words: Option<Vec<_>> = chance
        .iter()
        .map(|byte| WORDS.get(usize::from(*byte)).copied())
        .collect();
    words.map(|words| words.join("."))
}
