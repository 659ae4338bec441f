"""Sentences of our own for the methods, in several scripts, with what makes seams hard."""

SENTENCES = (
    "Primarul <PERSON> a inaugurat un pod nou peste Dunăre.",
    "„S-a dus!”, a zis <PERSON>, într-un târziu, despre podul lui <GPE>.",
    "Pod nou, pod vechi: primăria vrea pod nou și podari noi.",
    "N-am văzut <PERSON>-ul, ce-ți spun eu e c-a plecat… @URL #podul",
    "Buget de 2.500 de lei (aprobat azi) pentru gard — și nimic altceva!",
    "Da.",
    "<PERSON> <PERSON>",
    "🙂 👩‍👩‍👧‍👦 25%",
    "আমি আজ বাজারে গিয়েছিলাম, তুমি কোথায়?",
    "رحت للسوق اليوم، وين كنت؟",
    "Prima linie\na doua linie cu un gard",
    "e\u0301tat a\u0302 c\u0327a 👍🏽 go\u200d!",
)
